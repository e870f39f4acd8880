"""What goes wrong in Hearth itself."""

from __future__ import annotations

import enum


class Status(enum.IntEnum):
    """What went wrong, by its value in hearth.h. The values stay."""

    __module__ = "hearth"

    OK = 0
    INVALID_ARGUMENT = 1
    NOT_FOUND = 2
    TOO_LARGE = 3
    IO = 4
    NO_SPACE = 5
    CORRUPT = 6
    OTHER_VERSION = 7
    COMPILE_FAILED = 8
    COMPILE_FORBIDDEN = 9
    TIMEOUT = 10
    UNAVAILABLE = 11
    DENIED = 12
    NO_MEMORY = 13


class Error(Exception):
    """Something that Hearth could not do: `status` says what kind, and `str(error)` is a sentence.

    Raised in a compile function with COMPILE_FAILED, it is remembered for a moment (the setting failure_ttl), so that
    not everybody tries again:

        raise hearth.Error(hearth.Status.COMPILE_FAILED, "k.ir:3: there is no type \\"flot\\".")
    """

    __module__ = "hearth"

    def __init__(self, status: Status, sentence: str) -> None:
        super().__init__(status, sentence)
        self.status = Status(status)

    def __str__(self) -> str:
        return str(self.args[-1]) if self.args else ""  # of a class that has an __init__ of its own
