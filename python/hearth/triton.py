"""Triton's compile results, kept by Hearth.

    TRITON_CACHE_MANAGER=hearth.triton:CacheManager python train.py

Kernels, launchers and the autotuner's results then go where the settings of Hearth say: bounded, shared by all processes
of the machine, on servers and in bundles. Triton wants files, so these are written to its own directory
(TRITON_CACHE_DIR) where it looks for them; that may be empty at any time.

A kernel is one entry: all its files, or none. Launchers are libraries that Triton loads into the process, so whoever may
write to a server that you read from may run code in your programs. Demand signatures there (docs/security.md).
"""

from __future__ import annotations

import os

from triton.runtime.cache import FileCacheManager

from ._cache import Cache
from ._frameworks import asked
from ._key import key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from ._entry import Entry
    from ._key import Key

# What a compile writes one after the other, and then names as a group. Everything else is a file of its own.
_PARTS = {".ttir", ".ttgir", ".llir", ".ptx", ".cubin", ".source", ".json", ".gluon", ".amdgcn", ".hsaco", ".spv"}
_OF_AUTOTUNER = ".autotune.json"


class CacheManager(FileCacheManager):  # type: ignore[misc]  # Triton tells no types
    """What Triton asks for its files, one object for each kernel, launcher or autotuned function."""

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        super().__init__(key, override=override, dump=dump)
        # What people dump, or put in the place of what was compiled, is theirs.
        self._is_kept = not (override or dump)

    def get_file(self, filename: str) -> Optional[str]:
        if self._is_kept and not _is_part(filename):
            entry = self._find(filename)
            if entry is not None:
                return self._written(filename, entry.data)
        path: Optional[str] = super().get_file(filename)
        if path is not None and self._is_kept and not _is_part(filename):
            self._keep(filename, {"": path})  # it was there before Hearth was
        return path

    def put(self, data: Any, filename: str, binary: bool = True) -> str:
        path: str = super().put(data, filename, binary=binary)
        if self._is_kept and not _is_part(filename):
            self._keep(filename, {"": path})
        return path

    def get_group(self, filename: str) -> Optional[dict[str, str]]:
        if not self._is_kept:
            return super().get_group(filename)  # type: ignore[no-any-return]
        entry = self._find(filename)
        if entry is not None:
            return {name: self._written(name, data) for name, data in entry.sections.items()}
        group: Optional[dict[str, str]] = super().get_group(filename)
        # Some versions of Triton leave out what is missing, and then use a kernel of which a part is.
        if not group or filename not in group:
            return None
        self._keep(filename, group)
        return group

    def put_group(self, filename: str, group: dict[str, str]) -> Any:
        path = super().put_group(filename, group)
        if self._is_kept:
            self._keep(filename, group)
        return path

    def _key(self, filename: str) -> Key:
        # Triton's key has its version, the source, the target, the options and the variables that matter.
        return key("triton", key=self.key, file=filename)

    def _find(self, filename: str) -> Optional[Entry]:
        return asked("Triton", lambda: Cache.shared().get(self._key(filename)))

    def _keep(self, filename: str, paths: dict[str, str]) -> None:
        def store() -> None:
            sections = {}
            for name, path in paths.items():
                with open(path, "rb") as file:
                    sections[name] = file.read()
            Cache.shared().put(self._key(filename), sections, label=f"triton {filename}")

        asked("Triton", store)

    def _written(self, filename: str, data: memoryview) -> str:
        """Where the file is, with exactly these bytes: one of a process that was killed may have others."""
        path: str = self._make_path(filename)
        try:
            with open(path, "rb") as file:
                if file.read() == data:
                    return path
        except OSError:
            pass
        os.makedirs(self.cache_dir, exist_ok=True)
        written: str = super().put(bytes(data), filename)
        return written


def _is_part(filename: str) -> bool:
    return os.path.splitext(filename)[1] in _PARTS and not filename.endswith(_OF_AUTOTUNER)

