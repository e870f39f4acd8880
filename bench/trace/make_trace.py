#!/usr/bin/env python3
"""Makes a trace for the policies of run logs (`hearth run --log`): small, and without a name or a path.

  make_trace.py OUT.trace LOG...      the logs one after the other, as if the programs had run in that order

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


def trace_of(logs):
    """The lines of a trace. A kernel keeps the size and the cost that it was first seen with."""
    kernels = {}
    lines = []
    for log in logs:
        for key, size, cost in lookups_of(log):
            number, size, cost = kernels.setdefault(key, (len(kernels), size, cost))
            lines.append(f"{number} {size} {cost}")
    return lines


def write_trace(path, logs, comment=""):
    """How many lookups it has; with none, no file is written."""
    lines = trace_of(logs)
    if lines:
        with open(path, "w") as out:
            out.write("".join(f"# {text}\n" for text in comment.splitlines()) + "\n".join(lines) + "\n")
    return len(lines)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    if write_trace(sys.argv[1], sys.argv[2:]) == 0:
        sys.exit("These logs have no lookup. Run the program with `hearth run --log FILE`.")
