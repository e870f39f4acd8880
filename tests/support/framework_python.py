"""The Python that has the frameworks: the one named, or that of scripts/install-deps, or this one."""

import os
import sys

_OF_INSTALL_DEPS = os.path.expanduser("~/.cache/hearth-tests/python/bin/python3")
PYTHON = os.environ.get("HEARTH_TEST_PYTHON") or (_OF_INSTALL_DEPS if os.path.exists(_OF_INSTALL_DEPS) else sys.executable)
