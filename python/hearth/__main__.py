"""The command `hearth`: `python -m hearth run -- python train.py` is `hearth run -- python train.py`."""

from __future__ import annotations

import os
import sys

from ._library import LIBRARY, PACKAGE, path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Optional


def _places() -> Iterator[str]:
    """The wheel's own; those that belong to the library in use, in a build folder and installed; the system's."""
    yield os.path.join(PACKAGE, "_prefix", "bin", "hearth")
    beside = os.path.dirname(path())
    if beside:
        yield os.path.join(beside, "hearth")
        yield os.path.join(beside, "..", "bin", "hearth")
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        yield os.path.join(folder, "hearth")


def _is_command(place: str) -> bool:
    """The script that pip makes of this module is named hearth too, and would start itself for ever."""
    try:
        with open(place, "rb") as file:
            return file.read(4) == b"\x7fELF" and os.access(place, os.X_OK)
    except OSError:
        return False


def command() -> Optional[str]:
    """The path of the command, if there is one."""
    return next((place for place in _places() if _is_command(place)), None)


def main() -> None:
    found = command()
    if found is None:
        sys.exit(
            "hearth: The command is neither in this package nor on PATH. Install the wheel that has it inside, or "
            f"install Hearth, or set HEARTH_LIBRARY to the {LIBRARY} that it lies beside."
        )
    os.execv(found, [found, *sys.argv[1:]])


if __name__ == "__main__":
    main()
