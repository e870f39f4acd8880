"""hearth.triton: Triton's own compiler without a GPU, in processes that have nothing but Hearth in common."""

import json
import os
import shutil
import subprocess

import support

_PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "scale_with_triton.py")


class TritonTest(support.FolderTest):
    def setUp(self):
        super().setUp()
        self.own = self.path("triton")

    def environment_of_triton(self, manager="hearth.triton:CacheManager", **more):
        environment = self.environment(TRITON_CACHE_DIR=self.own, **more)
        return {**environment, "TRITON_CACHE_MANAGER": manager} if manager else environment

    def run_it(self, world, **more):
        result = self.start([support.PYTHON, _PROGRAM, world], self.environment_of_triton(**more))
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout.splitlines()[-1]), result.stderr

    def test_what_one_process_compiled_another_has_though_tritons_own_files_are_gone(self):
        bare, _ = self.run_it("compiles", manager=None)
        shutil.rmtree(self.own)
        first, _ = self.run_it("compiles")
        self.assertEqual(first, bare)
        shutil.rmtree(self.own)
        second, _ = self.run_it("answered")
        self.assertEqual(second, bare)

    def test_a_file_that_was_torn_is_written_anew(self):
        first, _ = self.run_it("compiles")
        torn = 0
        for place, _, names in os.walk(self.own):
            for name in names:
                torn += 1
                with open(os.path.join(place, name), "r+b") as file:
                    file.truncate(os.path.getsize(os.path.join(place, name)) // 2)
        self.assertGreater(torn, 5)
        self.assertEqual(self.run_it("answered")[0], first)

    def test_entries_that_are_none_of_tritons_are_compiled_anew(self):
        first, _ = self.run_it("compiles", manager=None)
        shutil.rmtree(self.own)
        self.run_it("poisons")
        shutil.rmtree(self.own)
        second, said = self.run_it("compiles")
        self.assertEqual({**second, "launcher": first["launcher"]}, first)  # a launcher may be any library
        self.assertEqual(said.count("Hearth refused an entry of triton"), 1, said)
        shutil.rmtree(self.own)
        self.assertEqual(self.run_it("answered")[0]["asm"], first["asm"])  # what was compiled took its place

    def test_what_triton_had_before_is_used_and_not_taken_for_our_own(self):
        first, _ = self.run_it("compiles", manager=None)
        self.assertEqual(self.run_it("answered")[0], first)
        shutil.rmtree(self.own)
        with self.assertRaisesRegex(AssertionError, "is being compiled"):
            self.run_it("answered")

    def test_what_was_overridden_is_nobody_elses(self):
        override = self.path("override")
        first, _ = self.run_it("compiles", TRITON_KERNEL_DUMP="1", TRITON_DUMP_DIR=override)
        shutil.rmtree(self.own)
        shutil.rmtree(self.path("cache"))
        for place, _, names in os.walk(override):
            for name in names:
                if name.endswith(".ptx"):
                    with open(os.path.join(place, name), "a") as file:
                        file.write("// by hand\n")
        overridden, _ = self.run_it("compiles", TRITON_KERNEL_OVERRIDE="1", TRITON_OVERRIDE_DIR=override)
        self.assertNotEqual(overridden["asm"]["ptx"], first["asm"]["ptx"])
        shutil.rmtree(self.own)
        self.assertEqual(self.run_it("compiles")[0]["asm"]["ptx"], first["asm"]["ptx"])

    def test_what_is_kept_without_its_text_is_not_for_who_wants_that(self):
        self.run_it("compiles", TRITON_STORE_BINARY_ONLY="1")
        shutil.rmtree(self.own)
        self.assertIn("ptx", self.run_it("compiles")[0]["asm"])

    def test_a_directory_of_tritons_that_is_read_only_is_no_matter(self):
        first, _ = self.run_it("compiles")
        places = [place for place, _, _ in os.walk(self.own)]
        for place in places:
            os.chmod(place, 0o555)
            self.addCleanup(os.chmod, place, 0o755)
        self.assertEqual(self.run_it("answered")[0], first)

    def test_what_hearth_gave_is_there_for_who_comes_without_it(self):
        first, _ = self.run_it("compiles")
        shutil.rmtree(self.own)
        self.run_it("answered")
        self.assertEqual(self.run_it("answered", manager=None)[0], first)

    def test_a_cache_that_cannot_be_used_is_no_matter_to_triton(self):
        first, _ = self.run_it("compiles", HEARTH_DIR=self.blocked())
        self.assertEqual(self.run_it("answered", HEARTH_DIR=self.blocked())[0], first)

    def test_eight_processes_at_once_get_the_same(self):
        words = [support.PYTHON, _PROGRAM, "compiles"]
        environment = self.environment_of_triton()
        started = [subprocess.Popen(words, env=environment, stdout=subprocess.PIPE) for _ in range(8)]
        self.assertEqual(len({process.communicate(timeout=200)[0] for process in started}), 1)


if __name__ == "__main__":
    support.main_with("import triton")
