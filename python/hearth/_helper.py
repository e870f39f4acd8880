"""Calls that may wait, made so that Ctrl-C lands while they do.

Python raises KeyboardInterrupt in its main thread, and not before that comes back from the library. So a call of the
main thread is made by a helper thread, and the main thread waits for it in Python, where it can be interrupted. The
compile function still runs on the main thread: the helper asks for that, and until it is answered it makes the calls
that the compile function makes in turn. So one of the two runs at a time, and to the library they are one thread.

A signal handler, or a __del__, may come in between while the main thread waits. Its calls have a helper of their own.
"""

from __future__ import annotations

import atexit
import os
import threading
from queue import Empty, SimpleQueue

from ._errors import Error, Status
from ._jobs import SIGNALS_AFTER, Job

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional, TypeVar

    T = TypeVar("T")


_FORKED = (
    "This process was forked inside a compile function and has returned from it, but only the parent can finish that "
    "compile. End the child before, with os._exit()."
)


class _Call:
    """A call that the helper makes, and its answer."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        self.answer: Any = None
        self.error: Optional[BaseException] = None

    def make(self) -> None:
        try:
            self.answer = self._function()
        except BaseException as error:
            self.error = error


class _Fill:
    """A compile function that the main thread is to run for the helper. It goes back when that is done."""

    def __init__(self, job: Job, result: int) -> None:
        self.job = job
        self.result = result


class Helper:
    def __init__(self) -> None:
        self._to_helper: SimpleQueue[Any] = SimpleQueue()
        self._to_main: SimpleQueue[Any] = SimpleQueue()
        self._depth = 0  # calls within compile functions within calls
        self._ends = False
        self.waits = False  # the main thread does, for an answer
        self.in_parent = False  # this is a child, forked inside a compile function
        self._thread = threading.Thread(target=self._serve, name="hearth", daemon=True)
        self._thread.start()

    def call(self, function: Callable[[], T], job: Optional[Job]) -> T:
        """On the main thread."""
        call = _Call(function)
        self._depth += 1
        self.waits = True
        try:
            self._to_helper.put(call)
            while True:
                try:  # KeyboardInterrupt lands here, or in the compile function
                    message = self._to_main.get(timeout=SIGNALS_AFTER)
                except Empty:
                    continue
                if isinstance(message, _Fill):
                    self.waits = False
                    message.job.fill(message.result)
                    self.waits = True
                    if self.in_parent:
                        raise Error(Status.UNAVAILABLE, _FORKED)
                    self._to_helper.put(message)
                elif message is call:
                    break
        except BaseException:
            self._leave(job)
            raise
        finally:
            self._depth -= 1
            self.waits = False
        if call.error is not None:
            raise call.error
        answer: T = call.answer
        return answer

    def fill(self, job: Job, result: int) -> None:
        """On the helper's thread, called by the library. When it returns, nobody uses `result` any more."""
        if job.left:
            return
        asked = _Fill(job, result)
        self._to_main.put(asked)
        while True:
            message = self._to_helper.get()
            if message is asked or message is job:
                return
            self._make(message)

    def _serve(self) -> None:
        while not self._ends:
            self._make(self._to_helper.get())

    def _make(self, message: object) -> None:
        if isinstance(message, _Call):
            message.make()
            self._to_main.put(message)

    def _leave(self, job: Optional[Job]) -> None:
        """The main thread was interrupted. The library may hold the helper for long: the next call has another one."""
        global _helper
        if job is not None:
            job.left = True
            self._to_helper.put(job)
        if self._depth == 1:
            if _helper is self:
                _helper = None
            self.end()

    def end(self) -> None:
        self._ends = True
        self._to_helper.put(None)  # wakes it

    def join(self) -> None:
        self._thread.join()


_helper: Optional[Helper] = None
_has_ended = False  # Python ends, and has no helper any more


def call(function: Callable[[], T], job: Optional[Job] = None, on_main: bool = True) -> T:
    """Calls `function`, which may wait in the library. There `job` is filled: on the main thread if that asked and
    `on_main` says so, else wherever the library likes."""
    global _helper
    if _has_ended or threading.current_thread() is not threading.main_thread():
        return function()
    interrupted = _helper if _helper is not None and _helper.waits else None
    try:
        mine = Helper() if _helper is None or interrupted else _helper
    except RuntimeError:  # no thread can be had: the system gives none, or this interpreter
        return function()
    if job is not None and on_main:
        job.helper = mine
    _helper = mine
    try:
        return mine.call(function, job)
    finally:
        if interrupted is not None:
            mine.end()
            _helper = interrupted


def _after_fork() -> None:
    global _helper
    if _helper is not None:
        _helper.in_parent = True
    _helper = None


def _at_exit() -> None:
    """A sub-interpreter must not end before its threads do. The main one would end it in the middle of a call."""
    global _helper, _has_ended
    _has_ended = True
    if _helper is not None:
        _helper.end()
        _helper.join()
        _helper = None


atexit.register(_at_exit)
os.register_at_fork(after_in_child=_after_fork)
