"""What cuda.core compiles, kept by Hearth.

>>> from cuda.core import Program, ProgramOptions
>>> import hearth.cuda_core
>>> cache = hearth.cuda_core.ProgramCache()
>>> module = Program(source, "c++", ProgramOptions(arch="sm_90")).compile("cubin", cache=cache)

cuda.core makes the keys, of all that it gives to the compiler. What that reads besides, such as headers, is not in them:
compile programs that include files without `cache=`, under `hearth run`.
"""

from __future__ import annotations

from cuda.core.utils import ProgramCacheResource

from ._frameworks import Compiles, asked, cache, only_section
from ._key import key as key_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Union

    from ._key import Key

    Name = Union[bytes, str]

_compiles = Compiles("cuda.core")


class ProgramCache(ProgramCacheResource):  # type: ignore[misc]  # cuda.core's own, which tells no types
    """A cache for `cache=` of cuda.core's Program.compile. It is the process's, and shares its entries with every other
    process that has the same settings."""

    def __getitem__(self, key: Name) -> bytes:
        code = _compiles.find(
            _key(key), lambda sections: bytes(only_section(sections)), "a program of cuda.core", must=True
        )
        if code is None:
            raise KeyError(key)
        return code

    def __setitem__(self, key: Name, value: Any) -> None:
        _compiles.keep(_key(key), "a program of cuda.core", lambda: _bytes_of(value))

    def __delitem__(self, key: Name) -> None:
        if not asked("cuda.core", lambda: cache().remove(_key(key))):
            raise KeyError(key)

    def __len__(self) -> int:
        raise TypeError("Hearth's cache is shared, and does not count cuda.core's entries. `hearth ls` lists them.")

    def clear(self) -> None:
        raise TypeError("Hearth's cache is shared, and is not emptied by one program. `hearth clear` empties it.")

    def __bool__(self) -> bool:
        return True  # which would ask for the length otherwise


def _key(key: Name) -> Key:
    return key_of("cuda.core", key.encode() if isinstance(key, str) else bytes(key))


def _bytes_of(value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    code = value.code  # of an ObjectCode; a path is of a file that was there before
    if isinstance(code, str):
        with open(code, "rb") as file:
            return file.read()
    return bytes(code)
