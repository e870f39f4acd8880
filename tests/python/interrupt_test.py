"""Ctrl-C while the library is at work."""

import os
import signal
import subprocess
import sys
import textwrap
import threading

from support import CacheTest, main, never
from thread_test import in_thread


class Interrupts(CacheTest):
    def setUp(self):
        super().setUp()
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
        self.left_alone = []

    def tearDown(self):
        for thread in self.left_alone:
            thread.join()  # before its directory goes

    def assert_wait_is_interrupted(self, call):
        with self.assertRaises(KeyboardInterrupt):
            call()
        self.left_alone += [thread for thread in threading.enumerate() if thread.name == "hearth"]

    def test_a_compile_function_runs_on_the_thread_that_asked(self):
        where = []
        self.cache.get_or_compile(self.key(), lambda: where.append(threading.current_thread()) or b"")
        self.assertEqual(where, [threading.main_thread()])

    def test_ctrl_c_ends_a_compile_which_can_begin_again(self):
        def interrupted():
            os.kill(os.getpid(), signal.SIGINT)
            while True:
                signal.pause()

        for _ in range(2):
            with self.assertRaises(KeyboardInterrupt):
                self.cache.get_or_compile(self.key(), interrupted)
        self.assertEqual(bytes(self.cache.get_or_compile(self.key(), lambda: b"x")), b"x")

    def test_ctrl_c_ends_the_wait_for_the_compile_of_another(self):
        begun, may_end = threading.Event(), threading.Event()

        def compile():
            begun.set()
            may_end.wait()
            return b"x"

        def interrupt():
            while self.cache.stats().waited < 1:
                pass
            os.kill(os.getpid(), signal.SIGINT)

        compiling, outcome = in_thread(lambda: self.cache.get_or_compile(self.key(), compile))
        begun.wait()
        interrupting, _ = in_thread(interrupt)
        self.assert_wait_is_interrupted(lambda: self.cache.get_or_compile(self.key(), never))
        interrupting.join()
        # The cache goes on: for others at once, and for that key when it is compiled.
        self.assertEqual(bytes(self.cache.get_or_compile(self.key("other"), lambda: b"y")), b"y")
        may_end.set()
        compiling.join()
        self.assertEqual(bytes(outcome[0]), b"x")
        self.assertEqual(bytes(self.cache.get_or_compile(self.key(), never)), b"x")

    def test_a_signal_handler_may_use_the_cache_while_the_main_thread_waits(self):
        begun, may_end, got = threading.Event(), threading.Event(), []

        def slow():
            begun.set()
            may_end.wait()
            return b"slow"

        def handle(*_):
            self.cache.put(self.key("put"), {"state": b"1"}, label="of the handler")
            got.append(bytes(self.cache.get_or_compile(self.key("compiled"), lambda: b"2")))
            may_end.set()

        def interrupt():
            while self.cache.stats().waited < 1:
                pass
            os.kill(os.getpid(), signal.SIGUSR1)

        self.addCleanup(signal.signal, signal.SIGUSR1, signal.signal(signal.SIGUSR1, handle))
        compiling, _ = in_thread(lambda: self.cache.get_or_compile(self.key(), slow))
        begun.wait()
        interrupting, _ = in_thread(interrupt)
        self.assertEqual(bytes(self.cache.get_or_compile(self.key(), never)), b"slow")
        self.assertEqual((got, bytes(self.cache.get(self.key("put")))), ([b"2"], b"1"))
        interrupting.join()
        compiling.join()

    def test_ctrl_c_that_a_compile_function_catches_is_its_own(self):
        begun, may_end = threading.Event(), threading.Event()

        def slow():
            begun.set()
            may_end.wait()
            return b"slow"

        def interrupt():
            while self.cache.stats().waited < 1:
                pass
            os.kill(os.getpid(), signal.SIGINT)

        def outer():
            try:
                self.cache.get_or_compile(self.key("slow"), never)
            except KeyboardInterrupt:
                may_end.set()
                return b"without it"
            return b"with it"

        compiling, _ = in_thread(lambda: self.cache.get_or_compile(self.key("slow"), slow))
        begun.wait()
        interrupting, _ = in_thread(interrupt)
        self.assertEqual(bytes(self.cache.get_or_compile(self.key("outer"), outer)), b"without it")
        interrupting.join()
        compiling.join()

    def test_ctrl_c_ends_a_wait_with_a_deadline(self):
        begun, may_end = threading.Event(), threading.Event()
        self.addCleanup(may_end.set)

        def slow():
            begun.set()
            may_end.wait()
            return b"x"

        interrupting, _ = in_thread(lambda: begun.wait() and os.kill(os.getpid(), signal.SIGINT))
        self.assert_wait_is_interrupted(lambda: self.cache.get_or_compile(self.key(), slow, deadline=3600))
        interrupting.join()
        may_end.set()
        self.assertEqual(bytes(self.cache.get_or_compile(self.key(), never, deadline=3600)), b"x")


# Main waits for a compile of another thread, again and again, and each wait is to end by a signal of take().
_ROUNDS = textwrap.dedent(
    """
    os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:1])
    cache = hearth.Cache.open(sys.argv[1])
    for number in range(rounds):
        begun, may_end = threading.Event(), threading.Event()
        slow = lambda: begun.set() or may_end.wait() and b"x"
        interrupting = threading.Thread(target=lambda: begun.wait() and take())
        interrupting.start()
        try:
            cache.get_or_compile(hearth.key("round", number), slow, deadline=3600)
        except KeyboardInterrupt:
            print(number, flush=True)
        may_end.set()
        interrupting.join()
    """
)


class Programs(CacheTest):
    def rounds(self, count, take):
        """How many of them ended."""
        done = self.start(f"rounds = {count}\ntake = lambda: {take}\n{_ROUNDS}")
        try:
            printed, said = done.communicate(timeout=100)
        except subprocess.TimeoutExpired:
            done.kill()
            printed, said = done.communicate()
        return len(printed.splitlines()), said

    def test_no_ctrl_c_is_lost_as_a_wait_begins(self):
        self.assertEqual(self.rounds(2000, "os.kill(os.getpid(), signal.SIGINT)"), (2000, ""))

    def test_no_ctrl_c_is_lost_that_the_system_gave_to_another_thread(self):
        self.assertEqual(self.rounds(3, "signal.pthread_kill(threading.get_ident(), signal.SIGINT)"), (3, ""))

    def start(self, script):
        return subprocess.Popen(
            [sys.executable, "-B", "-c", "import hearth, os, signal, sys, threading\n" + script, self.directory],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def test_ctrl_c_ends_a_program_that_waits_for_another_and_harms_neither(self):
        compiling = self.start(
            "cache = hearth.Cache.open(sys.argv[1])\n"
            "def compile():\n"
            "    print('begun', flush=True)\n"
            "    return sys.stdin.readline().encode()\n"
            "print(bytes(cache.get_or_compile(hearth.key('held'), compile)))\n"
        )
        self.assertEqual(compiling.stdout.readline(), "begun\n")
        waiting = self.start(
            "cache = hearth.Cache.open(sys.argv[1])\n"
            "def interrupt():\n"
            "    while cache.stats().misses < 1: pass\n"
            "    os.kill(os.getpid(), signal.SIGINT)\n"
            "threading.Thread(target=interrupt).start()\n"
            "cache.get_or_compile(hearth.key('held'), lambda: b'compiled twice')\n"
        )
        said = waiting.communicate()[1]
        self.assertEqual((waiting.returncode, said.splitlines()[-1]), (-signal.SIGINT, "KeyboardInterrupt"))
        self.assertEqual(compiling.communicate("done")[0], "b'done'\n")
        self.assertEqual(compiling.returncode, 0)

    def test_ctrl_c_ends_a_program_that_waits_at_its_end_for_a_compile(self):
        ended = self.start(
            "import time, traceback\n"
            "main = threading.get_ident()\n"
            "def waits():\n"
            "    stack = traceback.extract_stack(sys._current_frames()[main])\n"
            "    return any(frame.name == 'wait_for_all' for frame in stack)\n"
            "def endless():\n"
            "    while not waits(): time.sleep(0.001)\n"
            "    os.kill(os.getpid(), signal.SIGINT)\n"
            "    while True: time.sleep(0.001)\n"
            "cache = hearth.Cache.open(sys.argv[1])\n"
            "try:\n"
            "    cache.get_or_compile(hearth.key('endless'), endless, deadline=0.001)\n"
            "except hearth.Error as error:\n"
            "    print(error.status.name)\n"
        )
        printed, said = ended.communicate()
        self.assertEqual((ended.returncode, printed), (0, "TIMEOUT\n"), said)
        self.assertRegex(said.splitlines()[-1], "^KeyboardInterrupt")


if __name__ == "__main__":
    main()
