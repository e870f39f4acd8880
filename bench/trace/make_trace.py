#!/usr/bin/env python3
"""Makes a trace for the policies of run logs (`hearth run --log`): small, and without a name or a path.

  make_trace.py OUT.trace FAMILY LOG...      the logs one after the other, as if the programs had run in that order

bench/trace/trace.hpp has the grammar. A kernel is its number; what it is called, which program asked for it and the key
itself stay behind. What has no entry (it went past the cache) is left out.
"""

import json
import sys

LOOKUPS = ("hit", "miss", "waited", "rebuilt")


def lookups_of(path):
    """(key, bytes, microseconds) of each lookup; a line that a killed process left half written is none."""
    with open(path, errors="replace") as log:
        for line in log:
            try:
                event = json.loads(line)
                if event["outcome"] in LOOKUPS and event["key"]:
                    yield event["key"], int(event["bytes"]), round(event["cost_ms"] * 1000)
            except (ValueError, KeyError, TypeError):
                continue


def runs_of(logs):
    """The lines of a trace, of (family, log). A kernel has the size and the cost that it was first seen with."""
    numbers = {}
    for family, log in logs:
        words = [family]
        for key, size, cost in lookups_of(log):
            words.append(str(numbers[key]) if key in numbers else f"{len(numbers)}:{size}:{cost}")
            numbers.setdefault(key, len(numbers))
        if len(words) > 1:
            yield " ".join(words) + "\n"


def write_traces(path, logs):
    """How many runs it has; with none, no file is written."""
    runs = list(runs_of(logs))
    if runs:
        with open(path, "w") as out:
            out.writelines(runs)
    return len(runs)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    if write_traces(sys.argv[1], [(sys.argv[2], log) for log in sys.argv[3:]]) == 0:
        sys.exit("These logs have no lookup. Run the program with `hearth run --log FILE`.")
