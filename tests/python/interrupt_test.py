"""Ctrl-C while the library is at work."""

import os
import signal
import subprocess
import sys
import textwrap
import threading

from support import CacheTest, Held, in_thread, main, never


class Interrupts(CacheTest):
    def setUp(self):
        super().setUp()
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
        self.left_alone = []

    def tearDown(self):
        for thread in self.left_alone:
            thread.join()  # before its directory goes

    def held(self, key):
        """A compile of another thread, which is joined with what it gives."""
        held = Held()
        self.addCleanup(held.end)
        thread, outcome = in_thread(lambda: self.cache.get_or_compile(key, held))
        held.begun.wait(60)

        def end():
            held.end()
            thread.join()
            self.assertEqual(bytes(outcome[0]), b"held")

        return held, end

    def send_once_waited(self, number):
        def send():
            self.wait_until_waited()
            os.kill(os.getpid(), number)

        thread, _ = in_thread(send)
        self.addCleanup(thread.join)

    def assert_wait_is_interrupted(self, call):
        with self.assertRaises(KeyboardInterrupt):
            call()
        self.left_alone += [thread for thread in threading.enumerate() if thread.name == "hearth"]

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
        _, end = self.held(self.key())
        self.send_once_waited(signal.SIGINT)
        self.assert_wait_is_interrupted(lambda: self.cache.get_or_compile(self.key(), never))
        # The cache goes on: for others at once, and for that key when it is compiled.
        self.assertEqual(bytes(self.cache.get_or_compile(self.key("other"), lambda: b"y")), b"y")
        end()
        self.assertEqual(bytes(self.cache.get_or_compile(self.key(), never)), b"held")

    def test_a_signal_handler_may_use_the_cache_while_the_main_thread_waits(self):
        held, end = self.held(self.key())
        got = []

        def handle(*_):
            self.cache.put(self.key("put"), {"state": b"1"}, label="of the handler")
            got.append(bytes(self.cache.get_or_compile(self.key("compiled"), lambda: b"2")))
            held.end()

        self.addCleanup(signal.signal, signal.SIGUSR1, signal.signal(signal.SIGUSR1, handle))
        self.send_once_waited(signal.SIGUSR1)
        waited = self.cache.get_or_compile(self.key(), never)
        self.assertEqual((waited.outcome, bytes(waited)), ("waited", b"held"))
        self.assertEqual((got, bytes(self.cache.get(self.key("put")))), ([b"2"], b"1"))
        end()

    def test_ctrl_c_that_a_compile_function_catches_is_its_own(self):
        held, end = self.held(self.key("slow"))

        def outer():
            try:
                self.cache.get_or_compile(self.key("slow"), never)
            except KeyboardInterrupt:
                held.end()
                return b"without it"
            return b"with it"

        self.send_once_waited(signal.SIGINT)
        self.assertEqual(bytes(self.cache.get_or_compile(self.key("outer"), outer)), b"without it")
        end()

    def test_ctrl_c_ends_a_wait_with_a_deadline(self):
        held = Held()
        self.addCleanup(held.end)
        interrupting, _ = in_thread(lambda: held.begun.wait() and os.kill(os.getpid(), signal.SIGINT))
        self.assert_wait_is_interrupted(lambda: self.cache.get_or_compile(self.key(), held, deadline=3600))
        interrupting.join()
        held.end()
        self.assertEqual(bytes(self.cache.get_or_compile(self.key(), never, deadline=3600)), b"held")


_IMPORTS = "import hearth, os, signal, sys, threading\n"

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
        script = f"{_IMPORTS}signal.alarm(100)\nrounds = {count}\ntake = lambda: {take}\n{_ROUNDS}"
        done = self.start([sys.executable, "-B", "-c", script, self.directory], None)
        return len(done.stdout.splitlines()), done.stderr

    def test_no_ctrl_c_is_lost_as_a_wait_begins(self):
        self.assertEqual(self.rounds(2000, "os.kill(os.getpid(), signal.SIGINT)"), (2000, ""))

    def test_no_ctrl_c_is_lost_that_the_system_gave_to_another_thread(self):
        self.assertEqual(self.rounds(3, "signal.pthread_kill(threading.get_ident(), signal.SIGINT)"), (3, ""))

    def begin(self, script):
        words = [sys.executable, "-B", "-c", _IMPORTS + script, self.directory]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        return subprocess.Popen(words, text=True, **pipes)

    def test_ctrl_c_ends_a_program_that_waits_for_another_and_harms_neither(self):
        compiling = self.begin(
            "cache = hearth.Cache.open(sys.argv[1])\n"
            "def compile():\n"
            "    print('begun', flush=True)\n"
            "    return sys.stdin.readline().encode()\n"
            "print(bytes(cache.get_or_compile(hearth.key('held'), compile)))\n"
        )
        self.assertEqual(compiling.stdout.readline(), "begun\n")
        waiting = self.begin(
            "cache = hearth.Cache.open(sys.argv[1])\n"
            "def interrupt():\n"
            "    while cache.stats().misses < 1: pass\n"
            "    os.kill(os.getpid(), signal.SIGINT)\n"
            "threading.Thread(target=interrupt).start()\n"
            "cache.get_or_compile(hearth.key('held'), lambda: b'compiled twice')\n"
        )
        said = waiting.communicate(timeout=100)[1]
        self.assertEqual((waiting.returncode, said.splitlines()[-1]), (-signal.SIGINT, "KeyboardInterrupt"))
        self.assertEqual(compiling.communicate("done", timeout=100)[0], "b'done'\n")
        self.assertEqual(compiling.returncode, 0)

    def test_ctrl_c_ends_a_program_that_waits_at_its_end_for_a_compile(self):
        ended = self.begin(
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
        printed, said = ended.communicate(timeout=100)
        self.assertEqual((ended.returncode, printed), (0, "TIMEOUT\n"), said)
        self.assertRegex(said.splitlines()[-1], "^KeyboardInterrupt")


if __name__ == "__main__":
    main()
