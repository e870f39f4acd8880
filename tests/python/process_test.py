"""Processes that share a directory, forked and started anew."""

import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
import unittest

import hearth
import workers
from support import CacheTest, main, never
from thread_test import in_thread


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
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def compiles(self):
        with open(os.path.join(self.folder, "compiles")) as file:
            return len(file.readlines())

    def test_eight_processes_wait_for_one_compile(self):
        command = [sys.executable, "-B", workers.__file__, self.directory, self.key().hex(), self.folder, "8"]
        running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(8)]
        said = [process.communicate()[0].strip() for process in running]
        self.assertEqual([process.returncode for process in running], [0] * 8)
        self.assertEqual(said.count("compiled"), 1, said)
        self.assertEqual(self.compiles(), 1)

    def test_a_cache_goes_to_spawned_processes(self):
        work = (self.cache, self.key(), self.folder, 2)
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            said = pool.map(workers.outcome_of, [work] * 2, chunksize=1)
        self.assertEqual(said.count("compiled"), 1, said)
        self.assertEqual(self.compiles(), 1)

    def test_a_forked_child_goes_on_with_the_cache(self):
        before = self.cache.get_or_compile(self.key("before"), lambda: b"before")

        def child():
            assert bytes(before) == b"before"
            assert bytes(self.cache.get_or_compile(self.key("before"), never)) == b"before"
            assert bytes(self.cache.get_or_compile(self.key("child"), lambda: b"child")) == b"child"
            self.cache.put(self.key("put"), b"put")
            self.cache.close()

        self.assertEqual(in_child(child), 0)
        self.assertEqual(bytes(self.cache.get_or_compile(self.key("child"), never)), b"child")
        self.assertEqual(bytes(self.cache.get(self.key("put"))), b"put")

    def test_a_child_forked_while_threads_compile_goes_on_with_the_cache(self):
        stop, errors = threading.Event(), []

        def use(thread):
            number = 0
            try:
                while not stop.is_set():
                    number += 1
                    self.cache.get_or_compile(self.key(thread, number), lambda: b"x" * 1000)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=use, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        try:
            for number in range(8):

                def child():
                    assert bytes(self.cache.get_or_compile(self.key("child", number), lambda: b"y")) == b"y"

                self.assertEqual(in_child(child), 0)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.assertEqual(errors, [])

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
        ended = subprocess.run([sys.executable, "-B", "-c", script, self.directory], capture_output=True, text=True)
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "TIMEOUT\n", ""))
        self.assertEqual(bytes(self.cache.get(hearth.key("late"))), b"late")
        self.assertEqual(self.cache.stats(directory=True).compiles, 2)

    def assert_runs(self, script, printed):
        ended = subprocess.run([sys.executable, "-B", "-c", script, self.directory], capture_output=True, text=True)
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, printed, ""))

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
