"""hearth.jax: JAX on a CPU, and what may be in the way. That it is served and shipped is shown by tests/programs."""

import os
import shutil
import textwrap

import support

_PROGRAM = textwrap.dedent(
    """
    import jax, jax.numpy as jnp
    energy = jax.jit(lambda x: jnp.tanh(x @ x.T).sum())
    x = jnp.arange(64.0).reshape(8, 8) / 64
    print(float(energy(x)), float(jax.grad(energy)(x).sum()))
    """
)


class JaxTest(support.FolderTest):
    def environment_of_jax(self, **more):
        return self.environment_of_run(JAX_PLATFORMS="cpu", **more)

    def run_it(self, *options, **more):
        return self.run_served([support.PYTHON, "-c", _PROGRAM], self.environment_of_jax(**more), options)

    def check(self, *options, **more):
        done, summary = self.run_it(*options, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return summary["by_compiler"].get("jax", {"hits": 0, "compiled": 0})["compiled"]

    def test_a_directory_of_jax_is_used_and_filled_and_not_taken_for_our_own(self):
        own = self.path("jax")
        named = {"JAX_COMPILATION_CACHE_DIR": own, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
        bare = self.start([support.PYTHON, "-c", _PROGRAM], self.environment_of_jax(**named))
        self.assertEqual(bare.returncode, 0, bare.stderr)
        self.assertEqual(self.check(**named), 0)
        shutil.rmtree(own)
        self.assertGreater(self.check(**named), 0)
        self.assertTrue(os.listdir(own))
        shutil.rmtree(self.path("cache"))
        self.assertGreater(self.check("--record", self.path("r"), **named), 0, "a recording is whole all the same")

    def test_a_directory_that_jax_cannot_use_is_no_matter(self):
        self.assertGreater(self.check(JAX_COMPILATION_CACHE_DIR=os.path.join(self.blocked(), "jax")), 0)

    def test_a_cache_that_cannot_be_used_is_no_matter(self):
        self.check(HEARTH_DIR=self.blocked())

    def test_a_compile_that_is_forbidden_is_an_error_that_names_the_function(self):
        done, summary = self.run_it("--forbid-compile")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"jit_\w+ is missing, and this cache may not compile it")
        self.assertEqual(summary["by_compiler"]["jax"]["forbidden"], 1)

    def test_the_program_may_turn_it_on_itself(self):
        program = "import hearth.jax\nhearth.jax.enable()\n" + _PROGRAM
        program += "import hearth._frameworks\nprint(hearth._frameworks.cache().stats().hits)"
        hits = []
        for _ in range(2):
            done = self.start([support.PYTHON, "-c", program], self.environment(JAX_PLATFORMS="cpu"))
            self.assertEqual(done.returncode, 0, done.stderr)
            hits.append(int(done.stdout.splitlines()[-1]))
        self.assertGreater(hits[1], hits[0])


if __name__ == "__main__":
    support.main_with("import jax")
