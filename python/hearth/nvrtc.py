"""NVRTC through the cache: a CUDA program is compiled once, and a hit does not even load libnvrtc."""

from __future__ import annotations

import ctypes

from . import _helper
from ._cache import Cache
from ._entry import Entry, Lease
from ._errors import Error, Status
from ._library import NvrtcHeader, NvrtcProgram, c_list, c_text, failure, library, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Optional


class Program(Entry):
    """A compiled program: an Entry with what NVRTC says besides. Its sections are "ptx", "cubin", "ltoir" and so on, as
    far as NVRTC gives them."""

    __slots__ = ()

    @property
    def ptx(self) -> memoryview:
        """Empty if there is none."""
        return self.sections.get("ptx", memoryview(b""))

    @property
    def cubin(self) -> memoryview:
        """Empty if there is none: NVRTC makes one for "sm_90", not for "compute_90"."""
        return self.sections.get("cubin", memoryview(b""))

    @property
    def log(self) -> str:
        """What the compiler said."""
        return text(library().hearth_nvrtc_log(self._lease.address))

    def lowered_name(self, expression: str) -> str:
        """The compiler's name for one of the program's name expressions: what to look up in the loaded module."""
        found = library().hearth_nvrtc_lowered_name(self._lease.address, c_text("A name expression", expression))
        if found is None:
            raise KeyError(expression)
        return text(found)


def compile(
    source: str,
    target: Optional[str] = None,
    options: Sequence[str] = (),
    *,
    name: str = "",
    headers: Optional[Mapping[str, str]] = None,
    name_expressions: Sequence[str] = (),
    library_path: Optional[str] = None,
    cache: Optional[Cache] = None,
) -> Program:
    """Compiles a CUDA program, at most once on this machine.

    `target` is "sm_90" or "compute_80", or "device" for this machine's first GPU; None: as the options say. Files that
    the program includes need not be named: the compiler is watched, and a header that is edited counts. `headers` are
    for those that are no files. `cache` is Cache.shared() if none is given, and `library_path` the libnvrtc to use if
    not the first that is found.

    A program that does not compile is a hearth.Error with Status.COMPILE_FAILED and the compiler's log. That is kept
    for a moment too.

    >>> program = hearth.nvrtc.compile(source, target="sm_90", name_expressions=["scale<float>"])
    >>> program.outcome, program.lowered_name("scale<float>"), len(program.cubin)
    ('compiled', '_Z5scaleIfEvPT_S0_', 3832)
    """
    used = cache if cache is not None else Cache.shared()
    option_list, expressions = c_list("options", options), c_list("name_expressions", name_expressions)
    header_list = [
        NvrtcHeader(c_text("The name of a header", header), c_text(f'Header "{header}"', content))
        for header, content in (headers or {}).items()
    ]
    program = NvrtcProgram(
        size=ctypes.sizeof(NvrtcProgram),
        source=c_text("The source", source),
        name=c_text("The name", name),
        target=None if target is None else c_text("The target", target),
        options=option_list,
        option_count=len(option_list),
        headers=(NvrtcHeader * len(header_list))(*header_list),
        header_count=len(header_list),
        name_expressions=expressions,
        name_expression_count=len(expressions),
        library=None if library_path is None else c_text("library_path", library_path),
    )

    def call() -> tuple[int, str, Optional[Lease]]:
        functions = library()
        address = ctypes.c_void_p()
        with used._handle as handle:
            status = functions.hearth_nvrtc_compile(handle, program, ctypes.byref(address))
            if status != 0 or address.value is None:
                return status, text(functions.hearth_error(handle)), None
        return status, "", Lease(address.value, functions.hearth_release)

    status, sentence, lease = _helper.call(call)
    if lease is None:
        raise failure(status, sentence)
    compiled = Program(lease)
    if compiled.status != 0:
        raise Error(
            Status.COMPILE_FAILED,
            f"NVRTC did not compile {name or 'the program'} (nvrtcResult {compiled.status}):\n{compiled.log}",
        )
    return compiled
