"""How `hearth run` turns adapters on in Python programs: the import hook, and whatever may be in its way. The frameworks
here are empty shells; triton_test, inductor_test and jax_test have the real ones."""

import os
import sys
import textwrap

import support

# What the adapter for Triton needs of it.
_SHELL = {
    "triton/__init__.py": "__version__ = '3.6.0'\nfrom .runtime import cache\n",
    "triton/knobs.py": "class cache:\n    manager_class = None\n",
    "triton/runtime/__init__.py": "",
    "triton/runtime/cache.py": "class FileCacheManager:\n    pass\n",
}
_WHO = "import triton.knobs\nprint(triton.knobs.cache.manager_class)"
_SERVED = "<class '_hearth_of_run.triton.CacheManager'>"


class StartTest(support.FolderTest):
    def run_it(self, program, *python, options=(), **variables):
        """What the program says, and the summary."""
        environment = self.environment_of_run(PYTHONPATH=self.folder, **variables)
        done, summary = self.run_served([sys.executable, *python, "-c", textwrap.dedent(program)], environment, options)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, "something on the program's own stream")
        return done.stdout.strip(), summary

    def test_an_adapter_is_turned_on_when_its_framework_is_imported(self):
        self.write(_SHELL)
        self.assertEqual(self.run_it(_WHO)[0], _SERVED)

    def test_nothing_of_hearth_is_imported_before_that(self):
        program = "import sys; print([name for name in sys.modules if 'hearth' in name or name == 'ctypes'])"
        self.assertEqual(self.run_it(program)[0], "[]")

    def test_what_the_program_imports_is_what_it_would_have_imported(self):
        self.write({**_SHELL, "hearth/__init__.py": "__version__ = 'another'"})
        program = """
            import sys, hearth, triton.runtime.cache as cache, inspect
            print(hearth.__version__, type(cache.__loader__).__name__, cache.__spec__.loader is cache.__loader__,
                  inspect.getsource(cache.FileCacheManager).split()[0], any("_start" in folder for folder in sys.path))
            """
        self.assertEqual(self.run_it(program)[0], "another SourceFileLoader True class False")

    def test_the_sitecustomize_that_is_hidden_runs_too(self):
        self.write({**_SHELL, "sitecustomize.py": "import os\nos.environ['HIDDEN'] = 'ran'"})
        program = "import os, sitecustomize\nprint(os.environ['HIDDEN'], os.path.dirname(sitecustomize.__file__))\n" + _WHO
        self.assertEqual(self.run_it(program)[0].splitlines(), [f"ran {self.folder}", _SERVED])

    def test_children_are_served_however_they_are_started(self):
        self.write({**_SHELL, "who.py": f"def who():\n    import triton.knobs\n    return str(triton.knobs.cache.manager_class)\n"})
        program = """
            import multiprocessing, subprocess, sys
            from who import who
            if __name__ == "__main__":
                for kind in ("fork", "spawn"):
                    with multiprocessing.get_context(kind).Pool(1) as pool:
                        print(pool.apply(who))
                print(subprocess.run([sys.executable, "-c", "import who; print(who.who())"], capture_output=True, text=True).stdout)
            """
        self.assertEqual(self.run_it(program)[0].split("\n"), [_SERVED] * 3)

    def test_a_version_that_nobody_has_seen_is_left_alone_and_said_once(self):
        self.write({**_SHELL, "triton/__init__.py": "__version__ = '99.1'\nfrom .runtime import cache\n"})
        said, summary = self.run_it(_WHO)
        self.assertEqual(said, "None")
        self.assertEqual(len(summary["warnings"]), 1)
        self.assertIn("Triton 99.1 is none that this Hearth knows", summary["warnings"][0])

    def test_a_framework_that_is_not_what_was_expected_goes_on_without(self):
        self.write({**_SHELL, "triton/runtime/cache.py": "pass"})
        said, summary = self.run_it(_WHO)
        self.assertEqual(said, "None")
        self.assertIn("Hearth could not be turned on for triton", summary["warnings"][0])

    def test_a_framework_that_fails_to_import_may_be_imported_again(self):
        cache = "import os\nif os.environ.pop('BROKEN', None):\n    raise ImportError('half of it')\n"
        self.write({**_SHELL, "triton/runtime/cache.py": cache + _SHELL["triton/runtime/cache.py"]})
        program = "try:\n    import triton\nexcept ImportError as error:\n    print(error)\n" + _WHO
        self.assertEqual(self.run_it(program, BROKEN="1")[0].splitlines(), ["half of it", _SERVED])

    def test_a_program_that_chose_its_own_manager_keeps_it(self):
        self.write({**_SHELL, "triton/knobs.py": "class cache:\n    manager_class = 'mine'\n"})
        self.assertEqual(self.run_it(_WHO)[0], "mine")

    def test_a_python_without_ctypes_is_left_alone(self):
        self.write({**_SHELL, "ctypes/__init__.py": "raise ImportError('no ctypes here')"})
        self.assertEqual(self.run_it(_WHO)[0], "None")

    def test_frameworks_are_left_alone_at_the_users_word(self):
        self.write(_SHELL)
        for option in ("--no-frameworks", "--no-triton"):
            self.assertEqual(self.run_it(_WHO, options=[option])[0], "None")
        self.assertEqual(self.run_it(_WHO, options=["--no-jax"])[0], _SERVED)
        self.assertEqual(self.run_it(_WHO, HEARTH_FRAMEWORKS="jax")[0], "None")
        self.assertEqual(self.run_it(_WHO, options=["--no-triton"], HEARTH_FRAMEWORKS="triton,jax")[0], "None")
        nested = ["--", os.environ["HEARTH_COMMAND"], "run", "--no-frameworks"]
        self.assertEqual(self.run_it(_WHO, options=nested)[0], "None")

    def test_a_python_that_ignores_its_environment_is_said_to(self):
        for flags in (["-I"], ["-E"], ["-S"], ["-bI"], ["-W", "ignore", "-I"]):
            said, summary = self.run_it("print(1)", *flags)
            self.assertEqual(said, "1")
            self.assertIn("Frameworks are not served", "".join(summary["warnings"]), flags)
        self.assertEqual(self.run_it("print(1)", "-W", "ignore")[1]["warnings"], [])


if __name__ == "__main__":
    support.main()
