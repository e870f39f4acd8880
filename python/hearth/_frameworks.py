"""What the adapters of frameworks share. They never let a framework fail: whatever is wrong with the cache, or with what
is in it, it compiles as if Hearth were not there. The exception is a compile that is forbidden."""

from __future__ import annotations

import errno
import json
import logging
import os
import platform
import re
import threading
import time

from ._cache import Cache
from ._errors import Error, Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Callable, Optional, TypeVar, Union

    from ._jobs import Result
    from ._key import Key

    Answer = TypeVar("Answer")
    Sections = Mapping[str, Union[bytes, memoryview]]

_log = logging.getLogger("hearth")
_said: set[str] = set()
_cache: Optional[Cache] = None

# Then what a framework has in its own directory is not used, since what is recorded is to be enough without it.
recording = bool(os.environ.get("HEARTH_RECORD"))

_disabled = os.environ.get("HEARTH_DISABLE", "") not in ("", "0")

# Set by `hearth run`, whose programs did not ask for Hearth: nothing on their streams.
quiet = False


def cache() -> Cache:
    """The process's cache."""
    global _cache
    if _cache is None:
        off = quiet and "HEARTH_LOG" not in os.environ
        _cache = Cache.open(log="off") if off else Cache.shared()
    return _cache


def say(sentence: str) -> None:
    """Once: to the summary of `hearth run`, or to the log."""
    if sentence in _said:
        return
    _said.add(sentence)
    if not quiet:
        _log.warning(sentence)
        return
    line = {"pid": os.getpid(), "what": "frameworks", "outcome": "warning", "reason": sentence}
    try:
        file = _open_log(os.environ["HEARTH_RUN_LOG"])
        try:
            os.write(file, json.dumps(line).encode() + b"\n")
        finally:
            os.close(file)
    except (KeyError, OSError, ValueError):
        pass  # nobody wants to know


def _open_log(path: str) -> int:
    """As the library opens it (base/log_file): without waiting, without making it, and by a link only if that is this
    user's own or root's."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
    for _ in range(40):
        if os.path.realpath(os.path.dirname(path)).startswith("/proc/"):
            return os.open(path, flags)  # what it leads to may have no name; and nobody can put another link there
        try:
            return os.open(path, flags | os.O_NOFOLLOW)
        except OSError as problem:
            if problem.errno != errno.ELOOP:
                raise
        # The link whose owner is looked at is the one that is read: there may be another one by now.
        link = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if os.fstat(link).st_uid not in (os.geteuid(), 0):
                break
            path = os.path.join(os.path.dirname(path), os.readlink("", dir_fd=link))
        finally:
            os.close(link)
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)


def asked(framework: str, question: Callable[[], Answer]) -> Optional[Answer]:
    """The answer, or None."""
    try:
        return question()
    except Exception as problem:
        if isinstance(problem, Error) and problem.status == Status.COMPILE_FORBIDDEN:
            raise
        say(f"Hearth does not keep what {framework} compiles: {problem}")
        return None


# What a framework's JSON stays far below. An FX graph is one long string in it.
_MOST_BYTES = 256 << 20
_MOST_VALUES = 1_000_000
_MOST_LEVELS = 50
_MOST_DIGITS = 100

_BRACKETS = re.compile(rb'"[^"]*"?|[\[\]{}]')


def parsed(data: Union[bytes, memoryview]) -> Any:
    """JSON that a store holds, where anybody may have put it: a ValueError, and neither an endless parse nor a stack that
    overflows, if it is none or is larger or deeper than any framework writes it."""
    text = bytes(data)
    if len(text) > _MOST_BYTES or text.count(b",") + text.count(b"[") + text.count(b"{") > _MOST_VALUES:
        raise ValueError(f"its JSON of {len(text)} bytes is too large")
    level = 0
    # Without escapes no match is ever tried again, so this takes as long as the text is.
    for found in _BRACKETS.finditer(text.replace(b"\\\\", b"").replace(b'\\"', b"")):
        level += {b"[": 1, b"{": 1, b"]": -1, b"}": -1}.get(found[0], 0)
        if level > _MOST_LEVELS:
            raise ValueError("its JSON is nested too deeply")
    value = json.loads(text.decode(), parse_int=_number)
    if b"\\u" in text:
        json.dumps(value, ensure_ascii=False).encode()  # half a character is none
    return value


def _number(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError("its JSON has a number that is too large")
    return int(digits)


def only_section(sections: Sections, name: str = "") -> Union[bytes, memoryview]:
    """Of an entry that was kept as bytes, which has no others."""
    if list(sections) != [name]:
        raise ValueError("it has other sections than the one that is read")
    return sections[name]


def processor() -> str:
    """What code for this machine's processor may use, where a framework's own keys do not say it."""
    features = ""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.split(":")[0].strip() in ("flags", "Features"):
                    features = line.partition(":")[2].strip()
                    break
    except OSError:
        pass
    return f"{platform.machine()} {features}"


class Compiles:
    """What a framework compiles: found, or kept once it is there, with the time between."""

    # What compiles of this thread took that are done. One may lie within another: its time is not counted twice.
    _of_thread = threading.local()

    def __init__(self, framework: str) -> None:
        self._framework = framework
        self._began: dict[Key, float] = {}

    def find(
        self, key: Key, read: Callable[[Sections], Answer], label: str = "", must: bool = False
    ) -> Optional[Answer]:
        """What `read` makes of the entry's sections. From a server comes what anybody has put there, so an entry of which
        it makes nothing is a miss, whatever it raises. `must`: without it the framework compiles, which may be forbidden.
        """

        def look() -> Optional[Answer]:
            entry = cache().get(key)
            if entry is not None:
                try:
                    return read(entry.sections)
                except OSError:
                    raise  # it is not the entry that is wrong
                except Exception as problem:
                    say(f"Hearth refused an entry of {self._framework}, which compiles instead: {_said_of(problem)}")
            self._began[key] = self._now()
            if must:
                self.check(label)
            return None

        return None if _disabled else asked(self._framework, look)

    def check(self, label: str) -> None:
        asked(self._framework, lambda: cache().check_may_compile(label, self._framework))

    def keep(self, key: Key, label: str, result: Callable[[], Optional[Result]]) -> None:
        """Only what was compiled here: of what lies in a framework's own directory nobody knows who has put it there, and
        what is kept is signed. `result` may say None: it is not to be kept."""
        now = self._now()
        took = max(0.0, now - self._began.pop(key, now))
        self._of_thread.done = getattr(self._of_thread, "done", 0.0) + took

        def put() -> None:
            given = result()
            if given is not None:
                cache().put(key, given, label, self._framework, took)

        if not _disabled:
            asked(self._framework, put)

    def _now(self) -> float:
        return time.monotonic() - float(getattr(self._of_thread, "done", 0.0))


def _said_of(problem: Exception) -> str:
    """Not as long as whoever made the entry likes."""
    return f"{type(problem).__name__}: {str(problem)[:200]!r}"


def known(framework: str, version: str, first: tuple[int, int], last: tuple[int, int]) -> bool:
    """Whether this is a version that we have seen. Any other is left alone."""
    numbers = version.split(".")
    if len(numbers) >= 2 and all(part.isdigit() for part in numbers[:2]):
        if first <= (int(numbers[0]), int(numbers[1])) <= last:
            return True
    say(
        f"{framework} {version} is none that this Hearth knows ({first[0]}.{first[1]} to {last[0]}.{last[1]}), so it "
        "compiles as if Hearth were not there."
    )
    return False
