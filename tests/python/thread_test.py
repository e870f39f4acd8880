"""Threads that use one cache. Nothing here is timed: what would hang if it were wrong, hangs, and the test is ended."""

import threading

import hearth
from support import CacheTest, main, never


def in_thread(function):
    """Starts it. Returns the thread and a list that will hold what it gives or raises."""
    outcome = []

    def run():
        try:
            outcome.append(function())
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, outcome


class Threads(CacheTest):
    def wait_until_waited(self, count):
        while self.cache.stats().waited < count:
            pass

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

    def test_a_thread_that_waits_lets_others_run(self):
        begun, may_end = threading.Event(), threading.Event()

        def compile():
            begun.set()
            may_end.wait()
            return b"x"

        first, _ = in_thread(lambda: self.cache.get_or_compile(self.key(), compile))
        begun.wait()
        second, outcome = in_thread(lambda: self.cache.get_or_compile(self.key(), never))
        self.wait_until_waited(1)
        may_end.set()  # not reached if the second thread kept the interpreter to itself
        first.join()
        second.join()
        self.assertEqual(bytes(outcome[0]), b"x")

    def test_whoever_waited_for_a_compile_that_raised_is_told(self):
        def compile():
            self.wait_until_waited(1)
            raise ValueError("there is no such option")

        started = [in_thread(lambda: self.cache.get_or_compile(self.key(), compile)) for _ in range(2)]
        for thread, _ in started:
            thread.join()
        one, other = sorted((outcome[0] for _, outcome in started), key=lambda error: isinstance(error, hearth.Error))
        self.assertIsInstance(one, ValueError)
        self.assertRegex(str(other), "The compile function raised ValueError: there is no such option")

    def test_closing_waits_for_nobody_and_harms_nobody(self):
        begun, may_end = threading.Event(), threading.Event()

        def compile():
            begun.set()
            may_end.wait()
            return b"finished"

        cache = hearth.Cache.open(self.directory)
        thread, outcome = in_thread(lambda: cache.get_or_compile(self.key(), compile))
        begun.wait()
        cache.close()
        may_end.set()
        thread.join()
        self.assertEqual(bytes(outcome[0]), b"finished")
        self.assertEqual(bytes(self.cache.get(self.key())), b"finished")

    def test_the_main_thread_waits_for_the_compile_of_another(self):
        def compile():
            self.wait_until_waited(1)
            return b"x"

        begun = threading.Event()
        thread, _ = in_thread(lambda: self.cache.get_or_compile(self.key(), lambda: begun.set() or compile()))
        begun.wait()
        self.assertEqual(self.cache.get_or_compile(self.key(), never).outcome, "waited")
        thread.join()


if __name__ == "__main__":
    main()
