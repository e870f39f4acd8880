"""What the tests of the Python package share."""

import os
import sys
import tempfile
import unittest

# What the environment says of caches is not for these tests.
_OF_BUILD = ("HEARTH_LIBRARY", "HEARTH_COMMAND")
for _name in [name for name in os.environ if name.startswith("HEARTH_") and name not in _OF_BUILD]:
    del os.environ[_name]
_home = tempfile.TemporaryDirectory()
os.environ["XDG_CONFIG_HOME"] = os.environ["XDG_CACHE_HOME"] = _home.name

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


def main():
    unittest.main(verbosity=1 if "-v" not in sys.argv else 2)
