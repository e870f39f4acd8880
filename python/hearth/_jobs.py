"""Compile functions on their way through the library."""

from __future__ import annotations

import itertools
import os
import threading

from ._errors import Error, Status
from ._library import CompileFunction, DropFunction, c_bytes, c_text, check, library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Callable, Optional, Union

    from ._helper import Helper

    # What a compile gives: its only output, or its outputs by name.
    Sections = Mapping[str, Union[bytes, bytearray, memoryview]]
    Result = Union[bytes, bytearray, memoryview, Sections]


class Job:
    """One compile function, and how it went."""

    def __init__(self, compile: Callable[[], Result], label: bytes) -> None:
        self._compile = compile
        self._label = label
        self.helper: Optional[Helper] = None  # who has it run on the thread that asked; none: runs where it is called
        self.status = Status.UNAVAILABLE  # until it has gone well: what is interrupted has not
        self.error: Optional[BaseException] = None
        self.left = False  # whoever asked was interrupted, and cannot run it any more
        self.dropped: Optional[threading.Event] = None  # set when the library is through, if it may outlive the call

    def fill(self, result: int) -> None:
        """Compiles, and hands what that gives to the library."""
        try:
            sections = as_sections(self._compile())
            add_sections(result, sections, self._label)
            self.status = Status.OK
        except BaseException as error:
            self.error = error
            # The library remembers COMPILE_FAILED. Any other exception may be gone the next time.
            self.status = (error.status if isinstance(error, Error) else None) or Status.UNAVAILABLE
            library().hearth_result_explain(result, _sentence(error))


def as_sections(result: object) -> Sections:
    if isinstance(result, (bytes, bytearray, memoryview)):
        return {"": result}
    if hasattr(result, "keys") and hasattr(result, "__getitem__"):
        return result  # type: ignore[return-value]
    raise TypeError(
        f"A compile gives bytes, or a mapping of names to bytes, and this is a {type(result).__name__}. "
        "Encode text: text.encode()."
    )


def add_sections(result: int, sections: Sections, label: bytes) -> None:
    functions = library()
    for name in sections.keys():
        span, kept = c_bytes(f'Section "{name}"', sections[name])
        check(functions.hearth_result_add(result, c_text("The name of a section", name), span))
        del kept
    if label:
        check(functions.hearth_result_describe(result, label, None, None))


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


def wait_for_all() -> None:
    """Until no compile runs on a thread of the library, which could not return to an interpreter that has ended."""
    for job in list(_jobs.values()):
        if job.dropped is not None:
            job.dropped.wait()


def _compile(number: int, result: int) -> int:
    job = _jobs.get(number)
    if job is None:
        return Status.UNAVAILABLE
    if job.helper is None:
        job.fill(result)
    else:
        job.helper.fill(job, result)
    return job.status


# One of each for good: a compile may outlive the call that asked for it.
COMPILE = CompileFunction(_compile)
DROP = DropFunction(remove)

# What was on its way in a process that forks is on its way there, not in the child.
os.register_at_fork(after_in_child=_jobs.clear)
