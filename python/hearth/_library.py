"""libhearth: where it lies, and what its functions take (include/hearth/hearth.h). It is loaded when first used."""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, c_char_p, c_int, c_int32, c_size_t, c_uint64, c_void_p

from ._errors import Error, Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn, Optional

LIBRARY = "libhearth.so.0.2"
PACKAGE = os.path.dirname(os.path.abspath(__file__))


class Bytes(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("size", c_size_t)]


class Options(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("directory", c_char_p),
        ("settings", POINTER(c_char_p)),
        ("log", c_void_p),
        ("log_user", c_void_p),
    ]


class GetOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("deadline_ms", c_uint64), ("drop", c_void_p)]


class NvrtcHeader(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("content", c_char_p)]


class NvrtcProgram(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("source", c_char_p),
        ("name", c_char_p),
        ("target", c_char_p),
        ("options", POINTER(c_char_p)),
        ("option_count", c_size_t),
        ("headers", POINTER(NvrtcHeader)),
        ("header_count", c_size_t),
        ("name_expressions", POINTER(c_char_p)),
        ("name_expression_count", c_size_t),
        ("library", c_char_p),
    ]


CompileFunction = ctypes.CFUNCTYPE(c_int32, c_void_p, c_void_p)
DropFunction = ctypes.CFUNCTYPE(None, c_void_p)

# A key is passed as its 32 bytes, any other handle as an address. A struct that is only read is passed as an address
# too, so that null needs no case of its own.
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "hearth_error": (c_char_p, [c_void_p]),
    "hearth_version": (c_char_p, []),
    "hearth_open": (c_int32, [POINTER(Options), POINTER(c_void_p)]),
    "hearth_shared": (c_void_p, []),
    "hearth_close": (None, [c_void_p]),
    "hearth_flush": (c_int32, [c_void_p]),
    "hearth_new_key": (c_void_p, [c_char_p]),
    "hearth_key_text": (c_int32, [c_void_p, c_char_p, c_char_p]),
    "hearth_key_bytes": (c_int32, [c_void_p, c_char_p, Bytes]),
    "hearth_key_number": (c_int32, [c_void_p, c_char_p, c_uint64]),
    "hearth_key_flag": (c_int32, [c_void_p, c_char_p, c_int]),
    "hearth_key_list": (c_int32, [c_void_p, c_char_p, POINTER(c_char_p), c_size_t]),
    "hearth_make_key": (c_int32, [c_void_p, c_char_p]),
    "hearth_free_key": (None, [c_void_p]),
    "hearth_result_add_all": (c_int32, [c_void_p, POINTER(c_char_p), POINTER(Bytes), c_size_t]),
    "hearth_result_describe": (c_int32, [c_void_p, c_char_p, c_char_p, c_char_p]),
    "hearth_result_set_cost": (c_int32, [c_void_p, c_uint64]),
    "hearth_result_explain": (c_int32, [c_void_p, c_char_p]),
    "hearth_get": (c_int32, [c_void_p, c_char_p, POINTER(c_void_p)]),
    "hearth_get_or_compile_with": (
        c_int32,
        [c_void_p, c_char_p, CompileFunction, c_void_p, POINTER(GetOptions), POINTER(c_void_p)],
    ),
    "hearth_put_bytes": (c_int32, [c_void_p, c_char_p, c_char_p, Bytes]),
    "hearth_put": (c_int32, [c_void_p, c_char_p, CompileFunction, c_void_p]),
    "hearth_may_compile": (c_int32, [c_void_p, c_char_p, c_char_p]),
    "hearth_ready": (None, []),
    "hearth_remove": (c_int32, [c_void_p, c_char_p]),
    "hearth_lease_bytes": (Bytes, [c_void_p, c_char_p]),
    "hearth_lease_section_count": (c_size_t, [c_void_p]),
    "hearth_lease_section_name": (c_char_p, [c_void_p, c_size_t]),
    "hearth_lease_status": (c_int32, [c_void_p]),
    "hearth_lease_outcome": (c_int32, [c_void_p]),
    "hearth_lease_reason": (c_char_p, [c_void_p]),
    "hearth_lease_tier": (c_char_p, [c_void_p]),
    "hearth_lease_cost_ns": (c_uint64, [c_void_p]),
    "hearth_release": (None, [c_void_p]),
    "hearth_get_stats": (c_int32, [c_void_p, c_int32, c_void_p]),
    "hearth_nvrtc_compile": (c_int32, [c_void_p, POINTER(NvrtcProgram), POINTER(c_void_p)]),
    "hearth_nvrtc_log": (c_char_p, [c_void_p]),
    "hearth_nvrtc_lowered_name": (c_char_p, [c_void_p, c_char_p]),
}

_loaded: Optional[ctypes.CDLL] = None


def path() -> str:
    """The library to load: the one that this package was installed with, so that two versions never meet;
    HEARTH_LIBRARY; the system's."""
    # In a wheel; in lib/hearth/python/hearth.
    for folder in (os.path.join("_prefix", "lib"), os.path.join("_prefix", "lib64"), os.path.join("..", "..", "..")):
        installed = os.path.normpath(os.path.join(PACKAGE, folder, LIBRARY))
        if os.path.exists(installed):
            return installed
    return os.environ.get("HEARTH_LIBRARY") or LIBRARY


def library() -> ctypes.CDLL:
    """The library, loaded. Threads that come first together load it twice, which is one library all the same."""
    global _loaded
    if _loaded is None:
        _loaded = _load(path())
    return _loaded


def _load(name: str) -> ctypes.CDLL:
    try:
        loaded = ctypes.CDLL(name)
    except OSError as error:
        raise Error(
            Status.UNAVAILABLE,
            f"Hearth's library could not be loaded ({error}). Install the wheel that has it inside, or install Hearth, "
            f"or set HEARTH_LIBRARY to the path of a {LIBRARY}.",
        ) from None
    for function, (result, arguments) in _FUNCTIONS.items():
        try:
            pointer = getattr(loaded, function)
        except AttributeError:
            raise Error(
                Status.OTHER_VERSION,
                f'"{name}" has no {function}: it is not the Hearth that this package is for. Set HEARTH_LIBRARY to the '
                f"path of a {LIBRARY}.",
            ) from None
        pointer.restype = result
        pointer.argtypes = arguments
    return loaded


def fail(status: int, cache: Optional[int] = None) -> NoReturn:
    """Raises what this thread's last call on `cache` has failed with."""
    sentence = text(library().hearth_error(cache))
    raise failure(status, sentence)


def failure(status: int, sentence: str) -> Error:
    return Error(Status(status), sentence or f"Hearth failed with status {status} and did not say why.")


def check(status: int, cache: Optional[int] = None) -> None:
    if status != 0:
        fail(status, cache)


def text(given: Optional[bytes]) -> str:
    return given.decode("utf-8", "surrogateescape") if given else ""


def c_text(what: str, value: object) -> bytes:
    """`value` as the library takes text; `what` names it in a complaint."""
    if not isinstance(value, str):
        raise TypeError(f"{what} has to be a str, and is {_kind(value)}.")
    encoded = str.encode(value, "utf-8", "surrogateescape")
    if b"\0" in encoded:
        raise ValueError(f"{what} holds a zero character, which text cannot have. Give it as bytes.")
    return encoded


def c_list(what: str, values: object) -> ctypes.Array[c_char_p]:
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise TypeError(f"{what} has to be a list of str, and is {_kind(values)}.")
    items = [c_text(f"An item of {what}", value) for value in values]
    return (c_char_p * len(items))(*items)


def c_bytes(what: str, value: object) -> tuple[Bytes, object]:
    """`value` as the library takes bytes, and what must be kept as long as it reads them. Only what is read-only, and
    not bytes, is copied: ctypes cannot point into it."""
    view = view_of(what, value)
    size = view.nbytes
    if size == 0:
        return Bytes(None, 0), None
    if not isinstance(value, bytes) and not view.readonly:
        writable = (ctypes.c_char * size).from_buffer(view)
        return Bytes(ctypes.addressof(writable), size), writable
    kept = value if isinstance(value, bytes) else view.tobytes()
    return Bytes(ctypes.cast(c_char_p(kept), c_void_p), size), kept


def view_of(what: str, value: object) -> memoryview:
    try:
        view = memoryview(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{what} has to be bytes or like bytes, and is {_kind(value)}.") from None
    return view.cast("B") if view.c_contiguous else memoryview(view.tobytes())


def _kind(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"
