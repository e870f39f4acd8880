"""What the tests run in other processes."""

import os
import sys
import time


def compile_together(cache, key, folder, count):
    """Compiles not before `count` processes have come here. Returns the outcome."""
    open(os.path.join(folder, f"came.{os.getpid()}"), "w").close()

    def compile():
        end = time.monotonic() + 60  # if some never come, the test sees who compiled
        while sum(name.startswith("came.") for name in os.listdir(folder)) < count and time.monotonic() < end:
            time.sleep(0.001)
        with open(os.path.join(folder, "compiles"), "a") as file:
            file.write("once\n")
        return b"compiled together"

    entry = cache.get_or_compile(key, compile)
    assert bytes(entry) == b"compiled together"
    return entry.outcome


def outcome_of(arguments):
    return compile_together(*arguments)


if __name__ == "__main__":
    import hearth

    directory, digits, folder, count = sys.argv[1:]
    with hearth.Cache.open(directory) as cache:
        print(compile_together(cache, hearth.Key.from_hex(digits), folder, int(count)))
