"""Triton's compile results, kept by Hearth.

    TRITON_CACHE_MANAGER=hearth.triton:CacheManager python train.py

or, in the program, before the first kernel,

>>> import hearth.triton
>>> hearth.triton.enable()

Kernels, launchers and the autotuner's results then go where the settings of Hearth say: bounded, shared by all processes
of the machine, on servers and in bundles. Triton wants files, so these are written to its own directory
(TRITON_CACHE_DIR) where it looks for them; that may be empty at any time.

A kernel is one entry: all its files, or none. Launchers are libraries that Triton loads into the process, so whoever may
write to a server that you read from may run code in your programs. Demand signatures there (docs/security.md).
"""

from __future__ import annotations

import os
import re
import threading
from collections import namedtuple

import triton
from triton import knobs
from triton.runtime.cache import FileCacheManager

from ._frameworks import Compiles, asked, known, only_section, parsed, recording
from ._key import key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional, TypeVar, Union

    from ._frameworks import Sections
    from ._key import Key


    Answer = TypeVar("Answer")

# What a compile writes one after the other, and then names as a group. Everything else is a file of its own.
_PARTS = {".ttir", ".ttgir", ".llir", ".ptx", ".cubin", ".source", ".json", ".gluon", ".amdgcn", ".hsaco", ".spv"}
_OF_AUTOTUNER = ".autotune.json"
_PLAIN = (int, float, bool, str, type(None))
# Far more than Triton writes. Without a limit, whoever made an entry chooses how long it takes to check it.
_MOST_CONFIGURATIONS = 1000
_MOST_NAMES = 256
_NUMBERS_BELOW = 2**53

_compiles = Compiles("triton")


class _Parts:
    """What a thread starts while it compiles a kernel, ptxas and a C compiler, is not recorded for `hearth build`: the
    kernel is, with all that comes of it."""

    def __init__(self) -> None:
        self._threads: set[Optional[int]] = set()
        self._record_to = ""

    def begin(self) -> None:
        self._record_to = os.environ.get(_RECORD, "") or self._record_to
        self._threads.add(threading.get_ident())
        if self._record_to:
            os.environ[_RECORD] = ""

    def end(self) -> None:
        if self._threads:
            self._threads.discard(threading.get_ident())
            self._threads &= {thread.ident for thread in threading.enumerate()}  # others may have failed, and ended
            if not self._threads and self._record_to:
                os.environ[_RECORD] = self._record_to


_RECORD = "HEARTH_RECORD"
_parts = _Parts()


class CacheManager(FileCacheManager):  # type: ignore[misc]  # Triton tells no types
    """What Triton asks for its files, one object for each kernel, launcher or autotuned function."""

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        super().__init__(key, override=override, dump=dump)
        # What people dump, or put in the place of what was compiled, is theirs.
        self._is_kept = not (override or dump or _knob("override"))

    def get_file(self, filename: str) -> Optional[str]:
        if not self._is_kept or _is_part(filename):
            return super().get_file(filename)  # type: ignore[no-any-return]

        def read(sections: Sections) -> str:
            if filename.endswith(_OF_AUTOTUNER):
                _check_tuned(sections)
            return self._file(filename, only_section(sections))

        path: Optional[str] = self._find(filename, read)
        if path is None and not recording:
            path = super().get_file(filename)
        if path is None and not filename.endswith(_OF_AUTOTUNER):
            _compiles.check(filename)
            _parts.begin()
        return path

    def put(self, data: Any, filename: str, binary: bool = True) -> str:
        path: str = super().put(data, filename, binary=binary)
        if self._is_kept and not _is_part(filename):
            _parts.end()
            self._keep(filename, {"": path})
        return path

    def get_group(self, filename: str) -> Optional[dict[str, str]]:
        if not self._is_kept:
            return super().get_group(filename)  # type: ignore[no-any-return]

        def read(sections: Sections) -> dict[str, str]:
            _check_group(filename, sections)
            return {name: self._file(name, data) for name, data in sections.items()}

        group = None if _knob("always_compile") else self._find(filename, read)
        if group is not None and not self.has_file(f"__grp__{filename}"):
            asked("triton", lambda: super(CacheManager, self).put_group(filename, group))  # for who comes without us
        if group is None and not recording:
            group = super().get_group(filename)
        # Some versions of Triton leave out what is missing, and then use a kernel of which a part is.
        if not group or filename not in group or _knob("always_compile"):
            _compiles.check(_name_of(filename))
            _parts.begin()
            return None
        return group

    def put_group(self, filename: str, group: dict[str, str]) -> Any:
        path = super().put_group(filename, group)
        if self._is_kept:
            _parts.end()
            self._keep(filename, group)
        return path

    def _key(self, filename: str) -> Key:
        # Triton's key has its version, the source, the target, the options and most variables that matter. A launcher
        # is a library of this machine's kind, which its file's name tells, and wants a C library as new as its own.
        is_library = filename.endswith(".so")
        libc = os.confstr("CS_GNU_LIBC_VERSION") if is_library else None
        by = os.environ.get("CC", "") if is_library else ""
        return key(
            "triton", key=self.key, file=filename, libc=libc or "", by=by, whole=not _knob("store_binary_only")
        )

    def _find(self, filename: str, read: Callable[[Sections], Answer]) -> Optional[Answer]:
        _parts.end()  # of a compile that failed
        return _compiles.find(self._key(filename), read)

    def _keep(self, filename: str, paths: dict[str, str]) -> None:
        def read() -> dict[str, bytes]:
            sections: dict[str, bytes] = {}
            for name, path in paths.items():
                with open(path, "rb") as file:
                    sections[name] = file.read()
            # What would be refused is not kept.
            if filename.endswith(_OF_AUTOTUNER):
                _check_tuned(sections)
            elif filename.endswith(".json"):
                _check_group(filename, sections)
            return sections

        _compiles.keep(self._key(filename), _name_of(filename), read)

    def _file(self, filename: str, data: Union[bytes, memoryview]) -> str:
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


def _check_group(filename: str, sections: Sections) -> None:
    """That an entry has the files of the kernel that Triton asks for, and no others, and that Triton makes a kernel of
    them. It takes them for its own and would fail, so they are tried before they are written."""
    from triton.compiler.compiler import GPUTarget, make_backend  # not there yet when this module is imported

    if filename not in sections or not set(sections) <= {_name_of(filename) + part for part in _PARTS}:
        raise ValueError("it has other files than those of the kernel")
    metadata = parsed(sections[filename])
    if len(metadata) > _MOST_NAMES:
        raise ValueError(f"its metadata has {len(metadata)} names, and a kernel's has {_MOST_NAMES} at most")
    if metadata.get("ir_override"):  # an option; Triton's key has the file's name, and not what it holds
        raise ValueError("it names a file to take in the place of what is compiled")
    if not re.fullmatch(r"[\w.$]+", metadata["name"], re.ASCII):
        raise ValueError("its name is none of a kernel")
    if any(type(metadata[number]) is not int for number in ("shared", "num_warps", "num_ctas")):
        raise ValueError("what its launch needs is no number")
    target = metadata["target"]
    backend = make_backend(GPUTarget(target["backend"], target["arch"], target["warp_size"]))
    backend.pack_metadata(namedtuple("Metadata", sorted(metadata))(**metadata))
    binary = f"{_name_of(filename)}.{backend.binary_ext}"
    if binary not in sections:
        raise ValueError("it has no code")
    for name in set(sections) - {binary}:
        bytes(sections[name]).decode()


def _check_tuned(sections: Sections) -> None:
    """That Triton finds the best configuration in what the autotuner measured, and in that no file or function."""
    from triton.runtime.autotuner import Config

    timings = parsed(only_section(sections))["configs_timings"]
    if len(timings) > _MOST_CONFIGURATIONS:
        raise ValueError(f"it has {len(timings)} configurations, and at most {_MOST_CONFIGURATIONS} are read")
    configs = [Config(**settings) for settings, _ in timings]
    for config in configs:
        if config.ir_override is not None or config.pre_hook is not None:
            raise ValueError("it names a file, or a function, to take in the place of what is compiled")
        if not all(type(name) is str and _is_plain(value) for name, value in config.all_kwargs().items()):
            raise ValueError("it has a setting that is neither a word nor a number below 2^53")
        if any(type(number) is not int for number in (config.num_warps, config.num_ctas, config.num_stages)):
            raise ValueError("it has numbers of warps, blocks or stages that are none")
    # Triton makes a table of them, in which each is compared with all others of its hash.
    if len({hash(config) for config in configs}) < len(configs):
        raise ValueError("two of its configurations have the same hash")
    min(timing for _, timing in timings)


def _is_plain(value: Any) -> bool:
    return type(value) in _PLAIN and bool(type(value) is str or value is None or abs(value) < _NUMBERS_BELOW)


def _knob(name: str) -> bool:
    return bool(getattr(getattr(knobs, "compilation", None), name, False))


def _name_of(filename: str) -> str:
    """A kernel is named by the file of its group."""
    return filename[: -len(".json")] if filename.endswith(".json") and not filename.endswith(_OF_AUTOTUNER) else filename


def enable() -> None:
    """Has Triton use this manager, unless the program has chosen one."""
    if known("Triton", triton.__version__, (3, 6), (3, 9)) and knobs.cache.manager_class is None:
        knobs.cache.manager_class = CacheManager
