"""Hearth: never compile the same GPU kernel twice.

>>> import hearth
>>> cache = hearth.Cache.open()
>>> key = hearth.key("my-compiler", "1.4", source=source, target=90)
>>> entry = cache.get_or_compile(key, lambda: compile(source))      # once: here, on this machine, in the next process
>>> run(entry.data)                                                 # a memoryview: nothing was copied
"""

from __future__ import annotations

from ._errors import Error, Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import nvrtc as nvrtc
    from ._cache import Cache, Stats, ready
    from ._entry import Entry
    from ._key import Key, key

    __version__: str

__all__ = ["Cache", "Entry", "Error", "Key", "Stats", "Status", "key", "nvrtc", "ready"]

_MODULES = ("nvrtc", "triton", "inductor", "jax", "cuda_core")

# Importing ctypes takes most of the time, so what needs it comes when it is first asked for.
_HOMES = {"Cache": "_cache", "Stats": "_cache", "Entry": "_entry", "Key": "_key", "key": "_key", "ready": "_cache"}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name in _MODULES:
            return import_module("." + name, __name__)
        if name == "__version__":
            from ._library import library, text

            return text(library().hearth_version())
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module("." + _HOMES[name], __name__), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
