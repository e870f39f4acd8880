#!/usr/bin/env python3
"""`hearth top` in a terminal of its own, and `hearth stats --watch`."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import unittest

from eventually import eventually
from serving import COMMAND, CacheTest, as_started_by_hand, environment

ENTERED = b"\x1b[?1049h"
LEFT = b"\x1b[?25h\x1b[?1049l"


class Terminal:
    """The command in a pseudo-terminal of 100 columns and 30 rows."""

    def __init__(self, directory, **variables):
        self.ours, self.theirs = pty.openpty()
        self.resize(30, 100, tell=False)
        self.before = termios.tcgetattr(self.theirs)
        self.seen = b""

        def adopt():
            as_started_by_hand()
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            [COMMAND, "top"], stdin=self.theirs, stdout=self.theirs, stderr=self.theirs, env={**environment(directory), **variables},
            preexec_fn=adopt, close_fds=True,
        )

    def resize(self, rows, columns, tell=True):
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        if tell:
            self.process.send_signal(signal.SIGWINCH)

    def read_until(self, wanted):
        while not wanted(self.seen):
            if not select.select([self.ours], [], [], 30)[0]:
                raise AssertionError(f"it has only shown {self.seen!r}")
            self.seen += os.read(self.ours, 65536)

    def frame(self):
        """The lines of the next whole picture."""
        self.seen = self.seen[self.seen.rfind(b"\x1b[H"):] if self.seen.count(b"\x1b[J") else self.seen
        begun = self.seen.count(b"\x1b[J")
        self.read_until(lambda seen: seen.count(b"\x1b[J") > begun)
        picture = self.seen.rsplit(b"\x1b[J", 1)[0].rsplit(b"\x1b[H", 1)[1]
        return [line.replace(b"\x1b[K", b"").decode() for line in picture.split(b"\r\n")]

    def end(self):
        """Its exit code, or minus the signal that killed it; the terminal must be as it was."""
        code = self.process.wait(timeout=30)
        while select.select([self.ours], [], [], 0.1)[0]:
            self.seen += os.read(self.ours, 65536)
        restored = termios.tcgetattr(self.theirs) == self.before
        os.close(self.ours)
        os.close(self.theirs)
        return code, restored and self.seen.endswith(LEFT)


class Top(CacheTest):
    def test_it_shows_the_figures_follows_the_size_and_ends_by_q(self):
        self.fill(60)
        stats = self.stats()
        terminal = Terminal(self.directory)
        terminal.read_until(lambda seen: b"\x1b[J" in seen)
        self.assertIn(ENTERED, terminal.seen)
        text = "\n".join(terminal.frame())
        self.assertIn(f"({stats['hits']} of {stats['lookups']})", text)
        self.assertIn(f"compiles {stats['compiles']} (", text)
        self.assertIn("SLOWEST", text)
        self.assertIn("disk", text)
        for compiler in stats["compilers"]:
            self.assertRegex(text, f"{re.escape(compiler['name'])} +{compiler['hits']} +{compiler['compiles']} ")
        self.assertRegex(text, r"disk .* ago|disk .*just now")
        terminal.resize(7, 30)

        def small():
            lines = terminal.frame()
            return len(lines) <= 7 and max(map(len, lines)) <= 42 and lines  # with escapes for bold

        self.assertIn("...", "\n".join(eventually("it is as small as the terminal", small)))
        terminal.resize(30, 100)
        self.hearth("get", "nothing of that name")
        counted = f"of {stats['lookups'] + 1})"
        eventually("the lookup is counted", lambda: counted in "\n".join(terminal.frame()))
        os.write(terminal.ours, b"q")
        self.assertEqual(terminal.end(), (0, True))

    def test_every_way_out_restores_the_terminal(self):
        ways = {signal.SIGINT: 0, signal.SIGTERM: 0, signal.SIGHUP: 0, signal.SIGQUIT: -signal.SIGQUIT, signal.SIGSEGV: -signal.SIGSEGV, None: 0}
        for number, code in ways.items():
            terminal = Terminal(self.directory)
            terminal.read_until(lambda seen: b"\x1b[J" in seen)
            if number is None:
                os.write(terminal.ours, b"\x03")  # Ctrl-C
            else:
                terminal.process.send_signal(number)
            self.assertEqual(terminal.end(), (code, True), number)

    def test_it_works_without_colour(self):
        terminal = Terminal(self.directory, NO_COLOR="1")
        self.assertNotIn("\x1b", "".join(terminal.frame()))
        os.write(terminal.ours, b"q")
        terminal.end()

    def test_what_is_no_terminal_is_told_so(self):
        result = self.hearth("top")
        self.assertEqual(result.returncode, 2)
        self.assertIn("hearth stats --watch", result.stderr)


class Watch(CacheTest):
    def test_statistics_are_printed_again_until_it_is_stopped(self):
        for words, end in ((("--watch", "0.2", "--json"), signal.SIGINT), (("--watch=200ms", "--json"), signal.SIGTERM)):
            watch = subprocess.Popen(
                [COMMAND, "stats", *words], env=environment(self.directory), stdout=subprocess.PIPE, text=True, preexec_fn=as_started_by_hand
            )
            for _ in range(3):
                self.assertIn("hit_rate", json.loads(watch.stdout.readline()))
            watch.send_signal(end)
            watch.communicate(timeout=30)
            self.assertEqual(watch.returncode, 0)

    def test_without_a_number_it_is_every_two_seconds_and_others_are_refused(self):
        watch = subprocess.Popen([COMMAND, "stats", "--watch"], env=environment(self.directory), stdout=subprocess.PIPE, text=True)
        self.assertRegex(watch.stdout.readline(), r"^\d{4}-\d\d-\d\dT")
        watch.kill()
        watch.communicate()
        for wrong in ("0", "never", "-1"):
            result = self.hearth("stats", "--watch=" + wrong)
            self.assertEqual(result.returncode, 2, wrong)
            self.assertIn("is not a number of seconds", result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
