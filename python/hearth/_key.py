"""Keys: the SHA-256 of everything that determines a result."""

from __future__ import annotations

import ctypes

from ._library import c_bytes, c_list, c_text, check, library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Union

    # What a field of a key may be.
    Field = Union[str, bytes, bytearray, memoryview, int, bool, Sequence[str]]


class Key:
    """32 bytes that name an entry, the same in every process and on every machine. Made by hearth.key().

    >>> key = hearth.key("my-compiler", "source")
    >>> hearth.Key.from_hex(key.hex()) == key
    True
    """

    __module__ = "hearth"

    __slots__ = ("digest",)
    digest: bytes

    def __init__(self, digest: bytes) -> None:
        if not isinstance(digest, bytes) or len(digest) != 32:
            raise ValueError("A key is 32 bytes. hearth.key() makes one of whatever determines a result.")
        object.__setattr__(self, "digest", digest)

    @classmethod
    def from_hex(cls, digits: str) -> Key:
        """The key with these 64 hexadecimal digits, as `hearth ls` shows them."""
        try:
            return cls(bytes.fromhex(digits) if len(digits) == 64 else b"")  # fromhex() skips blanks
        except ValueError:
            raise ValueError(f'A key is 64 hexadecimal digits, and "{digits}" is not.') from None

    def hex(self) -> str:
        """64 lower-case hexadecimal digits."""
        return self.digest.hex()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("A key does not change.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("A key does not change.")

    def __reduce__(self) -> tuple[Any, ...]:
        return Key, (self.digest,)

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, Key) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"hearth.Key.from_hex({self.hex()!r})"


def key(domain: str, *parts: Field, **fields: Field) -> Key:
    """The key of these parts and named fields, in their order.

    `domain` tells your keys from those of others: the name of your program, and what this is a key of. Everything else
    is typed: 1, True, "1", b"1" and ["1"] give five different keys, and ("ab", "c") and ("a", "bc") differ. It is the
    same key as hearth::Key::of(domain, parts...) gives in C++.

    >>> hearth.key("my-compiler", "1.4", source="saxpy", target=90, options=["-O2"]).hex()[:12]
    '8554f5b9caed'
    """
    functions = library()
    builder = functions.hearth_new_key(c_text("The domain", domain))
    if builder is None:
        raise MemoryError
    try:
        for position, value in enumerate(parts):
            _add(functions, builder, str(position), value)
        for name, value in fields.items():
            if name.isdecimal():
                raise ValueError(f'A field is named "{name}", as a part without a name is. Begin it with a letter.')
            _add(functions, builder, name, value)
        digest = ctypes.create_string_buffer(32)
        check(functions.hearth_make_key(builder, digest))
        return Key(digest.raw)
    finally:
        functions.hearth_free_key(builder)


def _add(functions: ctypes.CDLL, builder: int, name: str, value: Field) -> None:
    what = f'Field "{name}" of a key'
    field = c_text("The name of a field", name)
    if isinstance(value, str):
        check(functions.hearth_key_text(builder, field, c_text(what, value)))
    elif isinstance(value, bool):
        check(functions.hearth_key_flag(builder, field, value))
    elif isinstance(value, int):
        if not 0 <= value < 2**64:
            raise ValueError(f"{what} is {value}, and numbers go from 0 to 2**64 - 1. Give it as a str.")
        check(functions.hearth_key_number(builder, field, value))
    elif isinstance(value, (list, tuple)):
        items = c_list(what, value)
        check(functions.hearth_key_list(builder, field, items, len(items)))
    elif isinstance(value, (bytes, bytearray, memoryview)):
        span, kept = c_bytes(what, value)
        check(functions.hearth_key_bytes(builder, field, span))
        del kept
    else:
        raise TypeError(f"{what} is a {type(value).__name__}, and has to be a str, bytes, int, bool or list of str.")
