"""hearth.Cache and hearth.Entry, as a program and its threads use them."""

import array
import gc
import os
import pickle
import sys
import tempfile
import threading

import hearth
from support import CacheTest, Held, in_thread, main, never


class Entries(CacheTest):
    def test_what_is_put_is_got_again(self):
        writable = memoryview(bytearray(b"ab"))
        for given in (b"bytes", bytearray(b"bytearray"), memoryview(b"memoryview"), writable[1:], b""):
            with self.subTest(given=given):
                self.cache.put(self.key(), given)
                entry = self.cache.get(self.key())
                self.assertEqual(bytes(entry), bytes(given))
                self.assertEqual(entry.data, given)
                self.assertEqual(len(entry), len(given))
                self.assertTrue(entry)
                self.assertEqual((entry.outcome, entry.tier, entry.status), ("hit", "memory", 0))

    def test_sections_keep_their_names_and_order_and_can_only_be_read(self):
        self.cache.put(self.key(), {"cubin": b"code", "log": b"", "größe": bytearray(b"12")}, label="a kernel")
        entry = self.cache.get(self.key())
        self.assertEqual(list(entry.sections), ["cubin", "log", "größe"])
        self.assertEqual([bytes(view) for view in entry.sections.values()], [b"code", b"", b"12"])
        self.assertEqual(bytes(entry), b"code")
        self.assertEqual(entry["größe"], b"12")
        with self.assertRaises(KeyError):
            entry["ptx"]
        self.assertEqual(list(entry), list(entry.sections))
        self.assertIn("log", entry)
        self.assertNotIn("ptx", entry)
        with self.assertRaises(TypeError):
            entry.sections["log"] = memoryview(b"another")
        with self.assertRaises(TypeError):
            entry.data[0] = 1

    def test_whatever_has_bytes_can_be_put(self):
        for given in (array.array("B", b"ab"), memoryview(b"a-b-")[::2]):
            for result in (given, {"code": given}):
                self.cache.put(self.key(), result)
                self.assertEqual(bytes(self.cache.get(self.key())), b"ab")

    def test_what_has_no_bytes_cannot_be_put(self):
        for given in (5, [1, 2], "text", None):
            for result in (given, {"code": given}, {"code": b"", "log": given}):
                with self.subTest(result=result), self.assertRaisesRegex(TypeError, "bytes"):
                    self.cache.put(self.key(), result)
        with self.assertRaisesRegex(ValueError, "no section"):
            self.cache.put(self.key(), {})
        self.assertIsNone(self.cache.get(self.key()))

    def test_an_entry_is_compiled_once_and_then_found_on_disk(self):
        entry = self.cache.get_or_compile(self.key(), lambda: b"compiled")
        self.assertEqual((entry.outcome, entry.reason, entry.tier), ("compiled", "absent", ""))
        self.assertGreater(entry.compile_seconds, 0)
        self.cache.close()
        with hearth.Cache.open(self.directory) as later:
            again = later.get_or_compile(self.key(), never)
            self.assertEqual((again.outcome, again.tier, bytes(again)), ("hit", "disk", b"compiled"))

    def test_what_is_removed_is_gone(self):
        self.assertIsNone(self.cache.get(self.key()))
        self.assertEqual(self.cache.stats().misses, 1)
        self.cache.put(self.key(), b"x")
        self.assertTrue(self.cache.remove(self.key()))
        self.assertFalse(self.cache.remove(self.key()))
        self.assertIsNone(self.cache.get(self.key()))

    def test_a_view_outlives_its_entry_and_the_cache(self):
        content = bytes(range(256)) * 512
        cache = hearth.Cache.open(self.directory, memory_bytes="256K")
        cache.put(self.key(), content)
        entry = cache.get(self.key())
        view, part = entry.data, entry.sections[""][1000:2000]
        del entry
        cache.remove(self.key())
        for number in range(16):
            cache.put(self.key(number), b"\0" * len(content))
        self.assertGreater(cache.stats().evictions, 0)
        cache.close()
        gc.collect()
        self.assertEqual(view, content)
        self.assertEqual(part, content[1000:2000])

    def test_an_entry_can_be_put_again_and_sent_as_bytes_only(self):
        self.cache.put(self.key(1), b"abc")
        entry = self.cache.get(self.key(1))
        self.cache.put(self.key(2), entry.data)
        self.assertEqual(bytes(self.cache.get(self.key(2))), b"abc")
        with self.assertRaisesRegex(TypeError, "bytes\\(entry\\)"):
            pickle.dumps(entry)


class Compiles(CacheTest):
    def test_what_a_compile_raises_is_raised_as_it_is_and_not_kept(self):
        class Mine(Exception):
            pass

        error = Mine("no")

        def fails():
            raise error

        for _ in range(2):
            with self.assertRaises(Mine) as raised:
                self.cache.get_or_compile(self.key(), fails)
            self.assertIs(raised.exception, error)
        self.assertIsNone(error.__context__)
        self.assertEqual(bytes(self.cache.get_or_compile(self.key(), lambda: b"now")), b"now")

    def test_nothing_is_kept_of_a_compile_whose_exception_is_odd(self):
        class WithoutStatus(hearth.Error):
            def __init__(self, message):
                Exception.__init__(self, message)

        class WithoutSense(hearth.Error):
            def __init__(self, message):
                super().__init__(hearth.Status.IO, message)
                self.status = "none"

        class WithoutWords(Exception):
            def __str__(self):
                raise SystemExit(3)

        self.ignore_what_ctypes_ignores()
        same = [(kind, kind) for kind in (ZeroDivisionError, WithoutStatus, WithoutSense)]
        for kind, raised in [*same, (WithoutWords, SystemExit)]:

            def fails():
                raise kind("no")

            for deadline in (None, 60):

                def ask():
                    self.cache.get_or_compile(self.key(), fails, deadline)

                with self.subTest(kind=kind, deadline=deadline):
                    thread, outcome = in_thread(ask)
                    thread.join()
                    self.assertIs(type(outcome[0]), raised)
                    self.assertIsNone(self.cache.get(self.key()))
                    with self.assertRaises(raised):
                        ask()
                    self.assertIsNone(self.cache.get(self.key()))
        self.assertEqual(str(WithoutStatus("no")), "no")

    def test_nothing_is_kept_of_compiles_that_run_out_of_stack(self):
        self.ignore_what_ctypes_ignores()
        for depth in range(12):  # the last call may fail anywhere on its way to the compile function
            keys = [self.key(depth, level) for level in range(sys.getrecursionlimit())]

            def compile(level):
                return lambda: bytes(self.cache.get_or_compile(keys[level], compile(level + 1)))

            def deeper(more):
                return deeper(more - 1) if more else compile(0)()

            thread, outcome = in_thread(lambda: deeper(depth))
            thread.join()
            self.assertIsInstance(outcome[0], Exception)
            self.assertEqual([level for level, key in enumerate(keys) if self.cache.get(key) is not None], [])

    def ignore_what_ctypes_ignores(self):
        """It tells of an exception that leaves a callback, and goes on."""
        hook = sys.unraisablehook
        sys.unraisablehook = lambda ignored: None
        self.addCleanup(setattr, sys, "unraisablehook", hook)

    def test_a_compile_that_failed_is_remembered_if_it_says_so(self):
        calls = []

        def fails():
            calls.append(1)
            raise hearth.Error(hearth.Status.COMPILE_FAILED, "k.ir:3: there is no such type.")

        for _ in range(2):
            with self.assertRaisesRegex(hearth.Error, "k.ir:3: there is no such type.") as raised:
                self.cache.get_or_compile(self.key(), fails)
            self.assertEqual(raised.exception.status, hearth.Status.COMPILE_FAILED)
        self.assertEqual(len(calls), 1)

    def test_a_compile_that_gives_something_else_is_told_so(self):
        for wrong in ("text", None, 7, ["a"]):
            with self.subTest(wrong=wrong), self.assertRaisesRegex(TypeError, type(wrong).__name__):
                self.cache.get_or_compile(self.key(), lambda: wrong)
        with self.assertRaisesRegex(TypeError, 'Section "log" .* a str'):
            self.cache.get_or_compile(self.key(), lambda: {"cubin": b"", "log": "text"})
        with self.assertRaisesRegex(ValueError, "no section"):
            self.cache.get_or_compile(self.key(), dict)
        self.assertIsNone(self.cache.get(self.key()))

    def test_a_compile_may_use_the_cache_even_if_only_one_may_run(self):
        with hearth.Cache.open(self.directory, max_parallel_compiles=1) as cache:

            def inner():
                self.assertIs(threading.current_thread(), threading.main_thread())
                return b"inner"

            def outer():
                return bytes(cache.get_or_compile(self.key("inner"), inner)) + b" in outer"

            self.assertEqual(bytes(cache.get_or_compile(self.key("outer"), outer)), b"inner in outer")
            self.assertIsNotNone(cache.get(self.key("inner")))

    def test_a_compile_that_waits_for_itself_is_an_error(self):
        def circle():
            return bytes(self.cache.get_or_compile(self.key(), circle))

        with self.assertRaises(hearth.Error):
            self.cache.get_or_compile(self.key(), circle)

    def test_whoever_has_a_deadline_leaves_and_the_compile_goes_on(self):
        held = Held()
        with self.assertRaises(hearth.Error) as raised:
            self.cache.get_or_compile(self.key(), held, deadline=0.05)
        self.assertEqual(raised.exception.status, hearth.Status.TIMEOUT)
        held.end()
        self.assertEqual(bytes(self.cache.get_or_compile(self.key(), never, deadline=60)), b"held")

    def test_a_deadline_may_be_as_far_off_as_a_number_can_say(self):
        for deadline in (sys.maxsize / 1e9, 1e10, 2.0**52):
            self.assertEqual(bytes(self.cache.get_or_compile(self.key(deadline.hex()), lambda: b"x", deadline)), b"x")

    def test_a_cache_that_may_not_compile_does_not(self):
        with hearth.Cache.open(self.directory, forbid_compile=True) as cache:
            with self.assertRaises(hearth.Error) as raised:
                cache.get_or_compile(self.key(), never)
            self.assertEqual(raised.exception.status, hearth.Status.COMPILE_FORBIDDEN)


class Caches(CacheTest):
    def test_closing_is_not_put_off_by_an_exception_that_is_still_known(self):
        try:
            self.cache.get_or_compile(self.key(), lambda: 1 // 0)
        except ZeroDivisionError:
            self.cache.close()
            with hearth.Cache.open(self.directory) as later:
                self.assertEqual(later.stats(directory=True).compile_failures, 1)
        else:
            self.fail("Nothing was raised.")

    def test_a_directory_that_cannot_be_costs_hits_and_nothing_else(self):
        with hearth.Cache.open("/dev/null/cache") as cache:
            self.assertEqual(bytes(cache.get_or_compile(self.key(), lambda: b"x")), b"x")
            self.assertEqual(cache.get(self.key()).tier, "memory")

    def test_a_closed_cache_says_so(self):
        self.cache.close()
        self.cache.close()
        self.assertTrue(self.cache.closed)
        uses = [
            lambda: self.cache.get(self.key()),
            lambda: self.cache.put(self.key(), b""),
            lambda: self.cache.get_or_compile(self.key(), never),
            lambda: self.cache.remove(self.key()),
            self.cache.stats,
            self.cache.flush,
            self.cache.__enter__,
            lambda: pickle.dumps(self.cache),
        ]
        for use in uses:
            with self.assertRaisesRegex(hearth.Error, "The cache is closed"):
                use()

    def test_wrong_types_are_told_what_is_right(self):
        for use, right in [
            (lambda: self.cache.get("key"), "hearth.key"),
            (lambda: self.cache.put(self.key(), "text"), "encode"),
            (lambda: self.cache.put(self.key(), b"", label=3), "label has to be a str"),
            (lambda: self.cache.get_or_compile(self.key(), b"bytes"), "cannot be called"),
            (lambda: hearth.Cache.open(self.directory, max_bytes=None), '"max_bytes" is a NoneType'),
        ]:
            with self.assertRaisesRegex(TypeError, right):
                use()
        for deadline in (0, -1, float("nan"), float("inf")):
            with self.assertRaisesRegex(ValueError, "deadline"):
                self.cache.get_or_compile(self.key(), never, deadline=deadline)

    def test_a_setting_that_is_not_known_or_none_is_an_error(self):
        for settings in ({"colour": "red"}, {"memory_bytes": "lots"}):
            with self.assertRaisesRegex(hearth.Error, next(iter(settings))) as raised:
                hearth.Cache.open(self.directory, **settings)
            self.assertEqual(raised.exception.status, hearth.Status.INVALID_ARGUMENT)
        for item in ("/with blank/kernels.hearth", ""):  # it would become two items of a list
            with self.assertRaisesRegex(ValueError, f'"{item}". Blanks separate items'):
                hearth.Cache.open(self.directory, bundles=["/kernels.hearth", item])

    def test_a_cache_that_was_sent_is_in_the_same_directory_from_everywhere(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        with hearth.Cache.open("relative") as cache:
            cache.put(self.key(), b"x")
            sent = pickle.dumps(cache)
        with tempfile.TemporaryDirectory() as elsewhere:
            os.chdir(elsewhere)
            with pickle.loads(sent) as cache:
                self.assertEqual(bytes(cache.get(self.key())), b"x")
            os.chdir(self.folder)

    def test_the_shared_cache_is_one_and_stays_open(self):
        shared = hearth.Cache.shared()
        self.assertIs(shared, hearth.Cache.shared())
        self.assertIs(pickle.loads(pickle.dumps(shared)), shared)
        with shared:
            shared.put(self.key(), b"x")
        self.assertEqual(bytes(shared.get(self.key())), b"x")
        shared.remove(self.key())

    def test_statistics_count_this_cache_or_its_directory(self):
        self.cache.get_or_compile(self.key(), lambda: b"x")
        self.cache.get(self.key())
        stats = self.cache.stats()
        self.assertEqual((stats.hits, stats.misses, stats.compiles, stats.stores), (1, 1, 1, 1))
        self.cache.close()
        with hearth.Cache.open(self.directory) as later:
            self.assertEqual(later.stats().compiles, 0)
            self.assertEqual(later.stats(directory=True).compiles, 1)

    def test_an_error_can_be_sent_to_another_process(self):
        error = pickle.loads(pickle.dumps(hearth.Error(hearth.Status.NO_SPACE, "The disk is full.")))
        self.assertEqual((error.status, str(error)), (hearth.Status.NO_SPACE, "The disk is full."))


class Threads(CacheTest):
    def test_sixteen_threads_wait_for_one_compile(self):
        calls = []

        def compile():
            calls.append(threading.current_thread())
            self.wait_until_waited(15)
            return b"once"

        started = [in_thread(lambda: self.cache.get_or_compile(self.key(), compile)) for _ in range(16)]
        for thread, _ in started:
            thread.join()
        entries = [outcome[0] for _, outcome in started]
        self.assertEqual([bytes(entry) for entry in entries], [b"once"] * 16)
        self.assertEqual(sorted(entry.outcome for entry in entries), ["compiled"] + ["waited"] * 15)
        self.assertEqual(len(calls), 1)
        self.assertIn(calls[0], [thread for thread, _ in started])

    def test_whoever_waited_for_a_compile_that_raised_is_told(self):
        def compile():
            self.wait_until_waited()
            raise ValueError("there is no such option")

        started = [in_thread(lambda: self.cache.get_or_compile(self.key(), compile)) for _ in range(2)]
        for thread, _ in started:
            thread.join()
        one, other = sorted((outcome[0] for _, outcome in started), key=lambda error: isinstance(error, hearth.Error))
        self.assertIsInstance(one, ValueError)
        self.assertRegex(str(other), "The compile function raised ValueError: there is no such option")

    def test_closing_waits_for_nobody_and_harms_nobody(self):
        held = Held()
        cache = hearth.Cache.open(self.directory)
        thread, outcome = in_thread(lambda: cache.get_or_compile(self.key(), held))
        held.begun.wait(60)
        cache.close()
        held.end()
        thread.join()
        self.assertEqual(bytes(outcome[0]), b"held")
        self.assertEqual(bytes(self.cache.get(self.key())), b"held")


if __name__ == "__main__":
    main()
