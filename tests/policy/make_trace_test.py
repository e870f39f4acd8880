#!/usr/bin/env python3
"""What run logs become traces. Argument: bench/trace."""

import json
import os
import sys
import tempfile
import unittest

FOLDER = sys.argv.pop()
sys.path.insert(0, FOLDER)
import make_trace  # noqa: E402


def line(key, outcome="hit", size=1000, cost=2.5):
    return json.dumps({"name": "/home/me/secret.cu", "outcome": outcome, "key": key, "bytes": size, "cost_ms": cost})


class MakeTrace(unittest.TestCase):
    def test_kernels_are_numbered_over_all_logs_and_nothing_else_stays(self):
        with tempfile.TemporaryDirectory() as folder:
            logs = [os.path.join(folder, name) for name in ("a", "b")]
            with open(logs[0], "w") as log:
                log.write("\n".join([line("x", "miss"), line("y", "waited", 7, 0.0004), line("", "past_the_cache")]))
                log.write('\n{"outcome": "warning", "reason": "r"}\n{"outcome": "mi')
            with open(logs[1], "w") as log:
                log.write(line("y", "hit", 7, 9) + "\n" + line("z", "rebuilt", 8, 1) + "\n")
            out = os.path.join(folder, "out.trace")
            self.assertEqual(make_trace.write_traces(out, zip(("cupy", "torch"), logs)), 2)
            with open(out) as trace:
                self.assertEqual(trace.read(), "cupy 0:1000:2500 1:7:0\ntorch 1 2:8:1000\n")

    def test_no_lookup_makes_no_file(self):
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "log")
            open(log, "w").close()
            self.assertEqual(make_trace.write_traces(log + ".trace", [("cupy", log)]), 0)
            self.assertFalse(os.path.exists(log + ".trace"))

    def test_recorded_traces_hold_numbers_alone(self):
        with open(os.path.join(FOLDER, "recorded.trace")) as trace:
            for run in trace:
                self.assertRegex(run, r"^[a-z_]+( \d+(:\d+:\d+)?)+\n$")


if __name__ == "__main__":
    unittest.main(verbosity=2)
