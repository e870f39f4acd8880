"""hearth.jax: JAX on a CPU, and what may be in the way. That it is served and shipped is shown by tests/programs."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

import support

_COMMAND = os.environ["HEARTH_COMMAND"]

_PROGRAM = textwrap.dedent(
    """
    import jax, jax.numpy as jnp
    energy = jax.jit(lambda x: jnp.tanh(x @ x.T).sum())
    x = jnp.arange(64.0).reshape(8, 8) / 64
    print(float(energy(x)), float(jax.grad(energy)(x).sum()))
    """
)


class JaxTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.own = os.path.join(self.folder, "jax")

    def environment(self, **more):
        without = ("PYTHONPATH", "HEARTH_LIBRARY")
        kept = {name: value for name, value in os.environ.items() if name not in without}
        return {**kept, "JAX_PLATFORMS": "cpu", "HEARTH_DIR": os.path.join(self.folder, "cache"), **more}

    def run_it(self, *options, **more):
        words = [_COMMAND, "run", "--json", *options, "--", support.PYTHON, "-c", _PROGRAM]
        done = subprocess.run(words, env=self.environment(**more), capture_output=True, text=True, timeout=200)
        return done, json.loads(done.stderr.splitlines()[-1])

    def check(self, *options, **more):
        done, summary = self.run_it(*options, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, summary["by_compiler"].get("jax", {"hits": 0, "compiled": 0})

    def test_a_directory_of_jax_is_used_and_filled_and_not_taken_for_our_own(self):
        named = {"JAX_COMPILATION_CACHE_DIR": self.own, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
        subprocess.run([support.PYTHON, "-c", _PROGRAM], env=self.environment(**named), check=True, capture_output=True)
        self.assertEqual(self.check(**named)[1]["compiled"], 0)
        shutil.rmtree(self.own)
        self.assertGreater(self.check(**named)[1]["compiled"], 0)
        self.assertTrue(os.listdir(self.own))

    def test_a_recording_is_whole_though_a_directory_of_jax_has_it_all(self):
        named = {"JAX_COMPILATION_CACHE_DIR": self.own, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
        subprocess.run([support.PYTHON, "-c", _PROGRAM], env=self.environment(**named), check=True, capture_output=True)
        self.assertGreater(self.check("--record", os.path.join(self.folder, "r"), **named)[1]["compiled"], 0)

    def test_a_directory_that_jax_cannot_use_is_no_matter(self):
        blocked = os.path.join(self.folder, "blocked")
        with open(blocked, "w"):
            pass
        self.assertGreater(self.check(JAX_COMPILATION_CACHE_DIR=os.path.join(blocked, "jax"))[1]["compiled"], 0)

    def test_a_compile_that_is_forbidden_is_an_error_that_names_the_function(self):
        done, summary = self.run_it("--forbid-compile")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"jit_\w+ is missing, and this cache may not compile it")
        self.assertEqual(summary["by_compiler"]["jax"]["forbidden"], 1)

    def test_a_cache_that_cannot_be_used_is_no_matter(self):
        blocked = os.path.join(self.folder, "blocked")
        with open(blocked, "w"):
            pass
        self.check(HEARTH_DIR=blocked)

    def test_processes_that_start_at_once_get_the_same(self):
        words = [_COMMAND, "run", "--", support.PYTHON, "-c", _PROGRAM]
        started = [subprocess.Popen(words, env=self.environment(), stdout=subprocess.PIPE) for _ in range(4)]
        self.assertEqual(len({process.communicate(timeout=200)[0] for process in started}), 1)

    def test_the_program_may_turn_it_on_itself(self):
        paths = {**support.SAME_PACKAGE, "HEARTH_LIBRARY": os.environ.get("HEARTH_LIBRARY", "")}
        program = "import hearth.jax\nhearth.jax.enable()\n" + _PROGRAM
        program += "import hearth._frameworks\nprint(hearth._frameworks.cache().stats().hits)"
        hits = [
            int(
                subprocess.run(
                    [support.PYTHON, "-c", program],
                    env=self.environment(**paths),
                    check=True,
                    capture_output=True,
                    text=True,
                ).stdout.splitlines()[-1]
            )
            for _ in range(2)
        ]
        self.assertGreater(hits[1], hits[0])


if __name__ == "__main__":
    support.main_with("import jax")
