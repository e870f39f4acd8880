"""Compile functions on their way through the library."""

from __future__ import annotations

import ctypes
import itertools
import os
import sys
import threading
from ctypes import c_char_p

from ._errors import Error, Status
from ._library import Bytes, CompileFunction, DropFunction, c_bytes, c_text, check, library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Callable, Optional, Union

    from ._helper import Helper

    # What a compile gives: its only output, or its outputs by name.
    Sections = Mapping[str, Union[bytes, bytearray, memoryview]]
    Result = Union[bytes, bytearray, memoryview, Sections]


# Seconds after which the main thread renews a wait. Python runs a signal handler when the main thread is back in Python,
# and a signal ends a wait only if it reaches this thread while it sleeps: not if it came just before, or went to another
# thread. That holds for locks and for descriptors. Only signal.set_wakeup_fd() is told of every signal, and that belongs
# to the program: it could not be given back as it was.
SIGNALS_AFTER = 0.1


class Job:
    """One compile function, and how it went."""

    def __init__(self, compile: Callable[[], Result], label: bytes, compiler: bytes = b"", cost: int = 0) -> None:
        self._compile = compile
        self._label = label
        self._compiler = compiler
        self._cost = cost  # in nanoseconds; 0: it is measured, or not known
        self.helper: Optional[Helper] = None  # who has it run on the thread that asked; none: runs where it is called
        self.status = Status.UNAVAILABLE  # until it has gone well: what is interrupted has not
        self.error: Optional[BaseException] = None
        self.left = False  # whoever asked was interrupted, and cannot run it any more
        self.dropped: Optional[threading.Event] = None  # set when the library is through, if it may outlive the call

    def fill(self, result: int) -> None:
        """Compiles, and hands what that gives to the library."""
        try:
            sections = as_sections(self._compile())
            if self._label or self._compiler:
                check(library().hearth_result_describe(result, self._label, self._compiler, None))
            if self._cost:
                check(library().hearth_result_set_cost(result, self._cost))
            add_sections(result, sections)
            self.status = Status.OK
        except BaseException as error:
            self.error = error
            self.status = _status_of(error)
            try:
                library().hearth_result_explain(result, _sentence(error))
            except BaseException as another:  # Ctrl-C, or what the exception's own __str__ raises
                self.error = another


def as_sections(result: object) -> Sections:
    if hasattr(result, "keys") and hasattr(result, "__getitem__"):
        if not list(result.keys()):
            raise ValueError('This mapping has no section. What has nothing to keep can keep {"": b""}.')
        return result  # type: ignore[return-value]
    try:
        memoryview(result)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(
            f"A compile gives bytes, or a mapping of names to bytes, and this is a {type(result).__name__}. "
            "Encode text: text.encode()."
        ) from None
    return {"": result}  # type: ignore[dict-item]


def add_sections(result: int, sections: Sections) -> None:
    """In one call, which has to be the last: an exception that comes before leaves nothing in the result, and that is a
    failure to the library. The status would not do, since ctypes returns 0 for a function that raises."""
    names = list(sections.keys())
    texts = [c_text("The name of a section", name) for name in names]
    spans = [c_bytes(f'Section "{name}"', sections[name]) for name in names]
    count = len(names)
    bytes_of = (Bytes * count)(*[span for span, _ in spans])
    check(library().hearth_result_add_all(result, (c_char_p * count)(*texts), bytes_of, count))
    del spans  # with what it keeps


def _status_of(error: BaseException) -> Status:
    """The library remembers COMPILE_FAILED. Any other exception may be gone the next time."""
    status = getattr(error, "status", None) if isinstance(error, Error) else None
    return status if isinstance(status, Status) and status else Status.UNAVAILABLE


def _sentence(error: BaseException) -> bytes:
    name = type(error).__name__
    try:
        said = str(error)
    except Exception:
        said = ""
    sentence = said if isinstance(error, Error) else f"The compile function raised {name}: {said}"
    return sentence.replace("\0", " ").encode("utf-8", "replace")


# The library is given a number for each job. A number, not an address: one that comes too late finds nothing.
_jobs: dict[int, Job] = {}
_numbers = itertools.count(1)


def add(job: Job) -> int:
    number = next(_numbers)
    _jobs[number] = job
    return number


def remove(number: int) -> None:
    job = _jobs.pop(number, None)
    if job is not None and job.dropped is not None:
        job.dropped.set()


_is_ending = False


def check_may_outlive_call() -> None:
    if _is_ending:
        raise Error(
            Status.UNAVAILABLE, "Python is ending, so that no compile can be left to itself. Ask without a deadline."
        )


def wait_for_all() -> None:
    """Until no compile runs on a thread of the library, which could not return to an interpreter that has ended. None is
    begun from here on."""
    global _is_ending
    _is_ending = True
    for job in list(_jobs.values()):
        if job.dropped is not None:
            while not job.dropped.wait(SIGNALS_AFTER):
                pass


def are_stuck(jobs: dict[int, Job] = _jobs, is_ending: Callable[[], bool] = sys.is_finalizing) -> bool:
    """Python ends while compiles run on threads of the library, which it holds for good. By arguments, since the
    module's names may be gone."""
    return is_ending() and any(job.dropped is not None for job in list(jobs.values()))


def _compile(number: int, result: int) -> int:
    job = _jobs.get(number)
    if job is None:
        return Status.UNAVAILABLE
    if job.helper is None:
        job.fill(result)
    else:
        job.helper.fill(job, result)
    return job.status


# One of each for good: a compile may outlive the call that asked for it, and after Ctrl-C at the end even Python.
COMPILE = CompileFunction(_compile)
DROP = DropFunction(remove)
for _function in (COMPILE, DROP):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_function))

# What was on its way in a process that forks is on its way there, not in the child.
os.register_at_fork(after_in_child=_jobs.clear)
