"""Waiting in tests of the command and of the Python package."""

import time


def eventually(what, is_so, seconds=60):
    """What is_so() says once it is true. What never comes fails the test with a sentence; it does not hang the run."""
    end = time.monotonic() + seconds
    while not (found := is_so()):
        if time.monotonic() >= end:
            raise AssertionError(f"waited {seconds} s in vain until {what}")
        time.sleep(0.005)
    return found
