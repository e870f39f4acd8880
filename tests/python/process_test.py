"""Processes that share a directory, forked and started anew."""

import multiprocessing
import os
import sys
import threading
import unittest

import hearth
from support import CacheTest, eventually, in_thread, main, never


def compile_together(work):
    """Compiles not before as many processes have come here. Returns the outcome."""
    cache, key, folder, count = work
    open(os.path.join(folder, f"came.{os.getpid()}"), "w").close()

    def compile():
        eventually("all have come", lambda: sum(name.startswith("came.") for name in os.listdir(folder)) == count)
        with open(os.path.join(folder, "compiles"), "a") as file:
            file.write("once\n")
        return b"compiled together"

    entry = cache.get_or_compile(key, compile)
    assert bytes(entry) == b"compiled together"
    return entry.outcome


def in_child(function):
    """The exit status of a forked child that calls it: 0 if it went well."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            function()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class Processes(CacheTest):
    def test_a_cache_goes_to_spawned_processes_which_wait_for_one_compile(self):
        work = (self.cache, self.key(), self.folder, 8)
        with multiprocessing.get_context("spawn").Pool(8) as pool:
            said = pool.map(compile_together, [work] * 8, chunksize=1)
        self.assertEqual(said.count("compiled"), 1, said)
        with open(self.path("compiles")) as file:
            self.assertEqual(len(file.readlines()), 1)
        self.assertEqual(bytes(self.cache.get(self.key())), b"compiled together")

    def test_a_child_forked_while_threads_compile_goes_on_with_the_cache(self):
        before = self.cache.get_or_compile(self.key("before"), lambda: b"before")
        stop, compiled = threading.Event(), ["before"]

        def use(thread):
            number = 0
            while not stop.is_set():
                number += 1
                self.cache.get_or_compile(self.key(thread, number), lambda: compiled.append(thread) or b"x" * 1000)

        started = [in_thread(lambda thread=thread: use(thread)) for thread in range(3)]
        try:
            for number in range(8):

                def child():
                    assert bytes(before) == b"before"
                    assert bytes(self.cache.get_or_compile(self.key("before"), never)) == b"before"
                    assert bytes(self.cache.get_or_compile(self.key("child", number), lambda: b"y")) == b"y"
                    self.cache.put(self.key("put", number), b"put")
                    self.cache.close()

                self.assertEqual(in_child(child), 0)
                self.assertEqual(bytes(self.cache.get_or_compile(self.key("child", number), never)), b"y")
                self.assertEqual(bytes(self.cache.get(self.key("put", number))), b"put")
        finally:
            stop.set()
            for thread, _ in started:
                thread.join()
        self.assertEqual([outcome for _, outcome in started], [[None]] * 3)
        self.cache.close()
        with hearth.Cache.open(self.directory) as later:
            told = later.stats(directory=True).compiles
        self.assertEqual(told, len(compiled) + 8, "a child that closes its cache tells what it has compiled")

    def test_a_child_forked_inside_a_compile_function_goes_on_with_the_cache(self):
        def child():
            assert bytes(self.cache.get_or_compile(self.key("child"), lambda: b"child")) == b"child"

        self.assertEqual(bytes(self.cache.get_or_compile(self.key(), lambda: b"%d" % in_child(child))), b"0")

    def test_a_child_that_returns_from_a_compile_function_is_told_and_its_parent_is_not_harmed(self):
        parent, status = os.getpid(), []

        def compile():
            child = os.fork()
            if child != 0:
                status.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            return b"of %d" % os.getpid()

        try:
            entry = self.cache.get_or_compile(self.key(), compile)
        except hearth.Error as error:
            os._exit(7 if "forked inside a compile function" in str(error) else 1)
        if os.getpid() != parent:
            os._exit(1)
        self.assertEqual((status, bytes(entry)), ([7], b"of %d" % parent))

    def test_a_child_forked_by_a_thread_inside_a_compile_function_may_close_the_cache(self):
        parent, status = os.getpid(), []

        def compile():
            child = os.fork()
            if child == 0:
                self.cache.close()  # and return into it
            else:
                status.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            return b"x"

        def ask():
            try:
                return bytes(self.cache.get_or_compile(self.key(), compile))
            finally:
                if os.getpid() != parent:
                    os._exit(7)

        thread, outcome = in_thread(ask)
        thread.join()
        self.assertEqual((outcome, status), ([b"x"], [7]))

    def assert_runs(self, script, printed):
        ended = self.start([sys.executable, "-B", "-c", script, self.directory], None)
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, printed, ""))

    def test_what_python_leaves_open_when_it_ends_is_flushed(self):
        script = (
            "import sys, hearth, threading\n"
            "cache = hearth.Cache.open(sys.argv[1])\n"
            "cache.get_or_compile(hearth.key('end'), lambda: b'x')\n"
            "begun = threading.Event()\n"
            "def slow():\n"
            "    begun.wait()\n"
            "    return b'late'\n"
            "try:\n"
            "    cache.get_or_compile(hearth.key('late'), slow, deadline=0.01)\n"
            "except hearth.Error as error:\n"
            "    print(error.status.name)\n"
            "begun.set()\n"
        )
        self.assert_runs(script, "TIMEOUT\n")
        self.assertEqual(bytes(self.cache.get(hearth.key("late"))), b"late")
        self.assertEqual(self.cache.stats(directory=True).compiles, 2)

    def test_python_ends_while_a_thread_of_its_own_compiles(self):
        script = (
            "import sys, hearth, threading, time\n"
            "cache = hearth.Cache.open(sys.argv[1])\n"
            "begun = threading.Event()\n"
            "def endless():\n"
            "    begun.set()\n"
            "    while True: time.sleep(0.001)\n"
            "ask = lambda: cache.get_or_compile(hearth.key('endless'), endless)\n"
            "threading.Thread(target=ask, daemon=True).start()\n"
            "begun.wait()\n"
            "cache.put(hearth.key('kept'), b'kept')\n"
        )
        self.assert_runs(script, "")
        self.assertEqual(bytes(self.cache.get(hearth.key("kept"))), b"kept")

    @unittest.skipIf(sys.version_info >= (3, 12), "There an isolated sub-interpreter cannot have ctypes.")
    def test_a_sub_interpreter_that_has_no_threads_can_use_a_cache(self):
        used = (
            "import hearth\n"
            f"cache = hearth.Cache.open({self.directory!r})\n"
            "print(bytes(cache.get_or_compile(hearth.key('isolated'), lambda: b'isolated')))\n"
            "cache.close()\n"
        )
        script = (
            "import _xxsubinterpreters as interpreters\n"
            f"interpreters.run_string(interpreters.create(isolated=True), {used!r})\n"
        )
        self.assert_runs(script, "b'isolated'\n")

    def test_a_cache_can_be_used_until_python_has_ended(self):
        script = (
            "import atexit, sys, threading\n"
            "def late():\n"
            "    print([thread.name for thread in threading.enumerate()])\n"
            "    print(bytes(cache.get_or_compile(hearth.key('late'), lambda: b'late')))\n"
            "atexit.register(late)\n"  # before Hearth's own, so it is called after that
            "import hearth\n"
            "cache = hearth.Cache.open(sys.argv[1])\n"
            "class Last:\n"
            "    def __init__(self): self.cache, self.key = cache, hearth.key('last')\n"
            "    def __del__(self):\n"
            "        self.cache.put(self.key, {'code': b'last'}, label='of __del__')\n"
            "        print(bytes(self.cache.get_or_compile(self.key, lambda: b'')))\n"
            "cache.get_or_compile(hearth.key('first'), lambda: b'first')\n"
            "last = Last()\n"
        )
        self.assert_runs(script, "['MainThread']\nb'late'\nb'last'\n")
        self.assertEqual(bytes(self.cache.get(hearth.key("last"))), b"last")

    def test_a_deadline_is_refused_when_python_has_nearly_ended(self):
        script = (
            "import atexit, sys\n"
            "def late():\n"
            "    try:\n"
            "        cache.get_or_compile(hearth.key('late'), lambda: b'', deadline=0.001)\n"
            "    except hearth.Error as error:\n"
            "        print(error.status.name)\n"
            "atexit.register(late)\n"
            "import hearth\n"
            "cache = hearth.Cache.open(sys.argv[1])\n"
        )
        self.assert_runs(script, "UNAVAILABLE\n")


if __name__ == "__main__":
    main()
