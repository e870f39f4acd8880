"""Entries, as a cache gives them out."""

from __future__ import annotations

import ctypes
from types import MappingProxyType

from ._library import library, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, Callable, NoReturn, Optional

_OUTCOMES = ("hit", "compiled", "waited", "past_the_cache")


class Lease:
    """An entry of the library in use. Given back when neither an Entry nor a memoryview refers to it any more."""

    __slots__ = ("address", "_release")

    def __init__(self, address: int, release: Callable[[int], object]) -> None:
        self.address = address
        # Held here, since the module's names may be gone when the interpreter ends.
        self._release = release

    def __del__(self) -> None:
        self._release(self.address)


class Entry:
    """What was compiled: named sections of bytes, and how they were come by. It does not change, and stays whole
    whatever the cache does meanwhile, even if that is closed.

    >>> entry = cache.get(key)
    >>> bytes(entry)                         # a copy of the first section
    b'\\x7fELF...'
    >>> file.write(entry.data)               # the same without a copy
    >>> entry["log"], entry.outcome, entry.tier
    (<memory at 0xffff9a3c1b40>, 'hit', 'memory')
    """

    __module__ = "hearth"

    __slots__ = ("_lease", "_sections", "__weakref__")

    def __init__(self, lease: Lease) -> None:
        self._lease = lease
        self._sections: Optional[Mapping[str, memoryview]] = None

    @property
    def data(self) -> memoryview:
        """The first section's bytes, read-only and not copied. The view may outlive the entry and the cache."""
        return self._view(None)

    @property
    def sections(self) -> Mapping[str, memoryview]:
        """Every section by its name, in order. The only one of an entry that was put as bytes is named ""."""
        if self._sections is None:
            functions, lease = library(), self._lease.address
            count = functions.hearth_lease_section_count(lease)
            names = [functions.hearth_lease_section_name(lease, index) for index in range(count)]
            self._sections = MappingProxyType({text(name): self._view(name) for name in names})
        return self._sections

    @property
    def outcome(self) -> str:
        """"hit"; "compiled", by this call; "waited", for the compile of another; or "past_the_cache"."""
        return _OUTCOMES[library().hearth_lease_outcome(self._lease.address)]

    @property
    def reason(self) -> str:
        """Why it missed, or went past the cache: "absent". Empty for a hit."""
        return text(library().hearth_lease_reason(self._lease.address))

    @property
    def tier(self) -> str:
        """The tier that had it: "memory", "disk". Empty if none did."""
        return text(library().hearth_lease_tier(self._lease.address))

    @property
    def status(self) -> int:
        """The compiler's own return code: 0 is success."""
        return int(library().hearth_lease_status(self._lease.address))

    @property
    def compile_seconds(self) -> float:
        """How long the compile took."""
        return float(library().hearth_lease_cost_ns(self._lease.address)) / 1e9

    def __getitem__(self, section: str) -> memoryview:
        return self.sections[section]

    def __contains__(self, section: object) -> bool:
        return section in self.sections

    def __iter__(self) -> Iterator[str]:
        return iter(self.sections)

    def __bytes__(self) -> bytes:
        # Quicker than through a view, which costs a type of ctypes for each new size.
        span = library().hearth_lease_bytes(self._lease.address, None)
        return ctypes.string_at(span.data, span.size) if span.size else b""

    def __buffer__(self, flags: int) -> memoryview:
        return self.data  # Python asks for it from 3.12 on

    def __len__(self) -> int:
        return int(library().hearth_lease_bytes(self._lease.address, None).size)

    def __bool__(self) -> bool:
        return True  # an empty entry is an entry: `cache.get(key) or compile()`

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name!r}: {len(view)} bytes" for name, view in self.sections.items())
        return f"<hearth.Entry {{{sizes}}} {self.outcome}{' in ' + self.tier if self.tier else ''}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("An Entry stays in its process. Send bytes(entry), or the key, and get it there.")

    def _view(self, section: Optional[bytes]) -> memoryview:
        span = library().hearth_lease_bytes(self._lease.address, section)
        if not span.size:
            return memoryview(b"")
        array: Any = (ctypes.c_char * span.size).from_address(span.data)
        array.lease = self._lease  # the view keeps the array, and that the lease
        return memoryview(array).cast("B").toreadonly()
