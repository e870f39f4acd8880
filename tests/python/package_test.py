"""The package itself: what importing it costs, how it finds the library and the command, and that it fits hearth.h."""

import ctypes
import os
import re
import subprocess
import sys
import tempfile
import unittest

import hearth
from hearth import _library
from support import main

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


# A wheel has its own library and command inside, and looks no further.
IS_WHEEL = os.path.exists(os.path.join(_library.PACKAGE, "_prefix"))


def python(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-B", *arguments], capture_output=True, text=True, env={**os.environ, **environment}
    )


class Package(unittest.TestCase):
    def test_importing_it_loads_nothing_that_takes_long(self):
        code = "import sys; before = set(sys.modules); import hearth; print(*sorted(set(sys.modules) - before))"
        # Without site, which may load them for reasons of its own.
        loaded = python("-S", "-c", code, PYTHONPATH=os.path.dirname(_library.PACKAGE)).stdout.split()
        self.assertIn("hearth", loaded)
        self.assertEqual([name for name in loaded if name in ("ctypes", "typing", "threading", "dataclasses")], [])

    def test_every_public_name_is_there(self):
        for name in hearth.__all__:
            self.assertIsNotNone(getattr(hearth, name))
            self.assertIn(name, dir(hearth))
        with self.assertRaises(AttributeError):
            hearth.no_such_name
        self.assertRegex(hearth.__version__, r"^\d+\.\d+\.\d+$")

    @unittest.skipIf(IS_WHEEL, "The wheel has its own.")
    def test_a_library_that_is_not_there_or_another_is_told_with_what_to_do(self):
        for library, said in [
            ("/no/libhearth.so", r"hearth\.Error: .*/no/libhearth\.so.*[Ii]nstall .*HEARTH_LIBRARY"),
            ("libc.so.6", r'hearth\.Error: "libc\.so\.6" has no hearth_'),
        ]:
            ended = python("-c", "import hearth; hearth.key('x')", HEARTH_LIBRARY=library)
            self.assertRegex(ended.stderr, said)

    def test_the_command_is_run_with_its_arguments_and_status(self):
        said = python("-m", "hearth", "--version")
        self.assertRegex(said.stdout, f"^hearth {re.escape(hearth.__version__)}")
        self.assertNotEqual(python("-m", "hearth", "no-such-command").returncode, 0)

    @unittest.skipIf(IS_WHEEL, "The wheel has its own.")
    def test_a_command_that_is_not_there_is_told_with_what_to_do(self):
        # A script of the same name, as pip makes one, is not the command.
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "hearth")
            with open(script, "w") as file:
                file.write("#!/bin/sh\nexit 3\n")
            os.chmod(script, 0o755)
            ended = python("-m", "hearth", HEARTH_LIBRARY="libhearth.so.0.2", PATH=folder)
        self.assertEqual(ended.returncode, 1)
        self.assertRegex(ended.stderr, "neither in this package nor on PATH.*HEARTH_LIBRARY")


class TestsOfFrameworks(unittest.TestCase):
    def test_a_framework_that_is_missing_is_named_in_one_sentence(self):
        code = f"import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r}); import support; "
        done = python("-c", code + "support.main_with('import no_such_framework')", HEARTH_TEST_PYTHON=sys.executable)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, 'skipped: "import no_such_framework" fails in .*HEARTH_TEST_PYTHON names another')


class Header(unittest.TestCase):
    """What Python knows of hearth.h is what tests/c has written down of it, and compares with it."""

    @classmethod
    def setUpClass(cls):
        with open(os.path.join(ROOT, "include", "hearth", "hearth.h")) as file:
            cls.header = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
        with open(os.path.join(ROOT, "tests", "c", "interface.golden")) as file:
            cls.golden = file.read().splitlines()

    def expect_struct(self, name, size, places):
        lines = [f"{name}: {size} bytes", *(f"{name}.{field}: at {at}, {bytes} bytes" for field, at, bytes in places)]
        self.assertEqual([line for line in self.golden if re.match(rf"{name}[:.]", line)], lines)

    def test_structs_are_laid_out_as_in_c(self):
        for name, struct in {
            "hearth_bytes": _library.Bytes,
            "hearth_options": _library.Options,
            "hearth_get_options": _library.GetOptions,
            "hearth_nvrtc_header": _library.NvrtcHeader,
            "hearth_nvrtc_program": _library.NvrtcProgram,
        }.items():
            fields = [(field, getattr(struct, field)) for field, _ in struct._fields_]
            self.expect_struct(name, ctypes.sizeof(struct), [(field, at.offset, at.size) for field, at in fields])

    def test_statistics_have_the_names_and_places_of_c(self):
        names = ["size", *hearth.Stats._NAMES]
        self.expect_struct("hearth_stats", 8 * len(names), [(name, 8 * at, 8) for at, name in enumerate(names)])

    def test_statuses_have_the_values_of_c(self):
        names = re.findall(r"\bHEARTH_(\w+) = \d+", self.header[: self.header.index("typedef struct hearth_cache")])
        self.assertEqual(names, [status.name for status in hearth.Status])
        for status in hearth.Status:
            self.assertIn(f"HEARTH_{status.name} = {int(status)}", self.golden)

    def test_functions_take_as_many_arguments_as_in_c(self):
        declared = dict(re.findall(r"\b(hearth_\w+)\(([^()]*)\);", self.header))
        for name, (_, arguments) in _library._FUNCTIONS.items():
            with self.subTest(function=name):
                self.assertIn(name, declared)
                count = 0 if declared[name] == "void" else declared[name].count(",") + 1
                self.assertEqual(count, len(arguments))


if __name__ == "__main__":
    main()
