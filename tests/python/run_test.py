"""What a program keeps through the package is told by `hearth run`: counted, recorded, and forbidden."""

import os
import sys
import textwrap

import support

_PROGRAM = textwrap.dedent(
    """
    import hearth
    cache = hearth.Cache.open()
    entry = cache.get(hearth.key("run test", "outside"))
    if entry is None:
        cache.check_may_compile("outside.cu", "mine")
        cache.put(hearth.key("run test", "outside"), b"code", "outside.cu", "mine", 1.5)
    cache.get_or_compile(hearth.key("run test", "inside"), lambda: b"code")
    cache.put(hearth.key("run test", "data"), b"what nobody has compiled")
    hearth.nvrtc.compile("__global__ void k() {}", target="compute_90", name="k.cu", cache=cache)
    """
)


class RunTest(support.FolderTest):
    def run_it(self, *options, **more):
        return self.run_served([sys.executable, "-c", _PROGRAM], self.environment(**more), options)

    def test_compiles_and_hits_are_counted_by_compiler(self):
        done, first = self.run_it()
        self.assertEqual(done.returncode, 0, done.stderr)
        compiled = {"compiled": 1, "forbidden": 0, "hits": 0}
        self.assertEqual(first["by_compiler"], {"mine": compiled, "library": compiled, "nvrtc": compiled})
        self.assertIn("outside.cu", [compile["name"] for compile in first["slowest"]])
        _, second = self.run_it()
        hit = {"compiled": 0, "forbidden": 0, "hits": 1}
        self.assertEqual(second["by_compiler"], {"mine": hit, "library": hit, "nvrtc": hit})
        self.assertGreaterEqual(second["saved_seconds"], 1.5)

    def test_a_recording_is_enough_for_a_machine_that_may_not_compile(self):
        recipes, bundle = self.path("r"), self.path("b")
        done, _ = self.run_it("--record", recipes)
        self.assertEqual(done.returncode, 0, done.stderr)
        built = self.start([os.environ["HEARTH_COMMAND"], "build", recipes, "-o", bundle], None)
        self.assertEqual(built.returncode, 0, built.stderr)
        done, summary = self.run_it("--forbid-compile", HEARTH_DIR=self.path("e"), HEARTH_BUNDLES=bundle)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((summary["hits"], summary["compiled"], summary["forbidden"]), (3, 0, 0))

    def test_a_compile_that_is_forbidden_is_named(self):
        done, summary = self.run_it("--forbid-compile")
        self.assertIn("hearth.Error: outside.cu is missing, and this cache may not compile it", done.stderr)
        self.assertEqual(summary["by_compiler"]["mine"]["forbidden"], 1)


_SAYS = "from hearth import _frameworks; _frameworks.quiet = True; _frameworks.say('said')"


class LogTest(support.FolderTest):
    """The log of a run that has ended, where a neighbour may have put something else."""

    def setUp(self):
        super().setUp()
        self.log, self.file = self.path("log"), self.path("file")

    def say(self):
        done = self.start([sys.executable, "-c", _SAYS], self.environment(HEARTH_RUN_LOG=self.log))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_one_that_is_gone_is_not_made_anew(self):
        self.say()
        self.assertFalse(os.path.exists(self.log))

    def test_a_pipe_in_its_place_is_not_waited_for(self):
        os.mkfifo(self.log)
        self.say()

    def test_a_link_of_another_user_is_not_followed(self):
        with open(self.file, "w", encoding="utf-8"):
            pass
        os.symlink(self.file, self.log)
        self.say()
        said = os.path.getsize(self.file)
        self.assertGreater(said, 0, "one's own is")
        if os.geteuid() == 0:
            os.lchown(self.log, 65534, 65534)
            self.say()
            self.assertEqual(os.path.getsize(self.file), said)


if __name__ == "__main__":
    support.main()
