"""What the adapters of frameworks share."""

from __future__ import annotations

import logging

from ._errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Optional, TypeVar

    Answer = TypeVar("Answer")

_log = logging.getLogger("hearth")
_said: set[str] = set()


def asked(of: str, question: Callable[[], Answer]) -> Optional[Answer]:
    """The answer, or None: whatever is wrong with the cache, or with what is in it, the framework goes on without. The
    log says it once."""
    try:
        return question()
    except (Error, OSError, LookupError, TypeError, ValueError, MemoryError) as problem:
        sentence = f"Hearth does not keep what {of} compiles: {problem}"
        if sentence not in _said:
            _said.add(sentence)
            _log.warning(sentence)
        return None
