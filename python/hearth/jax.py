"""What JAX has compiled, kept by Hearth.

>>> import hearth.jax
>>> hearth.jax.enable()        # before the first computation

JAX's persistent compilation cache then is Hearth's, with no directory needed: bounded, shared by all processes of the
machine, on servers and in bundles. A directory that the program has named (JAX_COMPILATION_CACHE_DIR) is used as well,
and what is compiled is put there too.

JAX runs what these values hold, so whoever may write to a server that you read from may run code in your programs.
Demand signatures there (docs/security.md).
"""

from __future__ import annotations

import os
import pathlib

import jax
from jax._src import compilation_cache
from jax._src.compilation_cache_interface import CacheInterface

from ._errors import Error
from ._frameworks import Compiles, asked, known, only_section, processor, recording
from ._key import key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from ._key import Key

_compiles = Compiles("jax")
_NOWHERE = "hearth"  # what JAX is told its directory is called; nothing is written there


class Cache(CacheInterface):  # type: ignore[misc]  # JAX's own, which tells no types
    """JAX's cache, in front of the one that it would have used."""

    def __init__(self, path: str, behind: Optional[CacheInterface]) -> None:
        self._path = pathlib.Path(path)
        self._behind = behind
        # Code for this machine's processor may be inside, for as many cores as there are, which is not in JAX's key;
        # and JAX compresses with what it finds installed.
        packed = any(getattr(compilation_cache, name, None) for name in ("zstd", "zstandard"))
        cores = len(os.sched_getaffinity(0))
        self._surroundings = f"{processor()} {cores} {'zstd' if packed else 'zlib'}"

    def get(self, key: str) -> Optional[bytes]:
        value = _compiles.find(self._key(key), lambda sections: bytes(only_section(sections)))
        if value is None and self._behind is not None and not recording:
            value = self._behind.get(key)
        if value is not None:
            return value
        try:
            _compiles.check(_name_of(key))
        except Error:
            jax.config.update("jax_raise_persistent_cache_errors", True)  # otherwise it compiles all the same
            raise
        return None

    def put(self, key: str, value: bytes) -> None:
        if self._behind is not None:
            self._behind.put(key, value)
        _compiles.keep(self._key(key), _name_of(key), lambda: value)

    def _key(self, name: str) -> Key:
        # JAX's has its version, the computation, the options and the devices.
        return key("jax", name, on=self._surroundings)



def enable() -> None:
    """Has JAX's compilation cache be Hearth's, for compiles of any length. Turned off by name, it stays off."""
    of_files = compilation_cache.get_file_cache
    if hasattr(of_files, "of_hearth") or not known("JAX", jax.__version__, (0, 10), (0, 11)):
        return
    config = jax.config

    def get_cache(path: str) -> tuple[CacheInterface, str]:
        behind = None if path == _NOWHERE else asked("jax", lambda: of_files(path))
        return Cache(path, behind[0] if behind else None), path

    get_cache.of_hearth = True  # type: ignore[attr-defined]
    compilation_cache.get_file_cache = get_cache
    if not config.jax_compilation_cache_dir:
        config.update("jax_compilation_cache_dir", _NOWHERE)
        config.update("jax_persistent_cache_enable_xla_caches", "none")  # these are files in that directory
    if "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in os.environ:
        config.update("jax_persistent_cache_min_compile_time_secs", 0.0)


def _name_of(key: str) -> str:
    return key.rpartition("-")[0] or key
