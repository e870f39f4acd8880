"""What the tests of the Python package share."""

import json
import os
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from eventually import eventually  # noqa: E402
from framework_python import PYTHON  # noqa: E402

# What the environment says of caches is not for these tests.
_OF_BUILD = ("HEARTH_LIBRARY", "HEARTH_COMMAND")
for _name in [name for name in os.environ if name.startswith("HEARTH_") and name not in _OF_BUILD]:
    del os.environ[_name]
# The first process of a test makes its home. Those that it starts share it: some are killed, and could not remove one.
if "TEST_HOME" not in os.environ:
    _home = tempfile.TemporaryDirectory()
    os.environ["TEST_HOME"] = os.environ["XDG_CONFIG_HOME"] = os.environ["XDG_CACHE_HOME"] = _home.name

import hearth  # noqa: E402


# For another Python than this one, so that it has the same package and library.
SAME_PACKAGE = {"PYTHONPATH": os.path.dirname(os.path.dirname(hearth.__file__))}


class FolderTest(unittest.TestCase):
    """A test with a folder of its own, in which programs that it starts have their cache."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, files):
        for name, text in files.items():
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            with open(self.path(name), "w") as file:
                file.write(textwrap.dedent(text))

    def blocked(self):
        """A path below which nothing can be made."""
        self.write({"blocked": ""})
        return self.path("blocked")

    def environment(self, **more):
        return {**os.environ, **SAME_PACKAGE, "HEARTH_DIR": self.path("cache"), **more}

    def environment_of_run(self, **more):
        """For programs under `hearth run`, which has a package of its own."""
        own = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "HEARTH_LIBRARY")}
        return {**own, "HEARTH_DIR": self.path("cache"), **more}

    def start(self, words, environment, **more):
        return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=200, **more)

    def run_served(self, words, environment, options=()):
        """What a program under `hearth run` did, and the summary."""
        done = self.start([os.environ["HEARTH_COMMAND"], "run", "--json", *options, "--", *words], environment)
        return done, json.loads(done.stderr.splitlines()[-1])


class CacheTest(FolderTest):
    """A test with a cache in a directory of its own."""

    def setUp(self):
        super().setUp()
        self.directory = self.path("cache")
        self.cache = hearth.Cache.open(self.directory)
        self.addCleanup(self.cache.close)

    def key(self, *parts):
        return hearth.key("python test", self.id(), *parts)

    def wait_until_waited(self, count=1):
        eventually(f"{count} wait", lambda: self.cache.stats().waited >= count)


class Held:
    """A compile function that has begun, and goes on until it may end."""

    def __init__(self):
        self.begun, self._may_end = threading.Event(), threading.Event()

    def __call__(self):
        self.begun.set()
        self._may_end.wait(60)
        return b"held"

    def end(self):
        self._may_end.set()


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


def never():
    raise AssertionError("This was to be in the cache, and is being compiled.")


def main_with(imports):
    """main(), if PYTHON imports that."""
    try:
        found = subprocess.run([PYTHON, "-c", imports], capture_output=True, text=True, timeout=100)
    except OSError as error:
        sys.exit(f"HEARTH_TEST_PYTHON is no Python that can be run: {error}")
    if found.returncode == 0:
        main()
    else:
        why = found.stderr.strip().split("\n")[-1]
        print(f'skipped: "{imports}" fails in {PYTHON} ({why}). "scripts/install-deps test" makes a Python for these '
              "tests, and HEARTH_TEST_PYTHON names another.")


def main():
    unittest.main(verbosity=2)
