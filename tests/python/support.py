"""What the tests of the Python package share."""

import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

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


class CacheTest(unittest.TestCase):
    """A test with a cache in a directory of its own."""

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.directory = self._folder.name
        self.cache = hearth.Cache.open(self.directory)
        self.addCleanup(self.cache.close)

    def key(self, *parts):
        return hearth.key("python test", self.id(), *parts)


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
