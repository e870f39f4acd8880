"""Processes that share a directory, forked and started anew."""

import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading

import hearth
import workers
from support import CacheTest, main, never


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


if __name__ == "__main__":
    main()
