"""hearth.triton: Triton's own compiler without a GPU, in processes that have nothing but Hearth in common."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

import support

try:
    import triton
except ImportError:
    triton = None

# Compiles a kernel, a launcher and the result of an autotuner, and says what it got. In the world "answered" the
# compilers are gone.
_PROGRAM = textwrap.dedent(
    """
    import hashlib, json, os, sys
    import triton, triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.runtime.cache import get_cache_manager
    from triton.backends.nvidia.compiler import CUDABackend

    if sys.argv[1] == "answered":
        def refuse(*arguments, **options):
            raise AssertionError("This was to be in the cache, and is being compiled.")
        for stage in ("make_ttir", "make_ttgir", "make_llir", "make_ptx", "make_cubin"):
            if hasattr(CUDABackend, stage):
                setattr(CUDABackend, stage, refuse)

    @triton.jit
    def scale(x, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)

    source = ASTSource(fn=scale, signature={"x": "*fp32", "n": "i32", "BLOCK": "constexpr"}, constexprs={"BLOCK": 128})
    kernel = triton.compile(source, target=GPUTarget("cuda", 90, 32))
    one = get_cache_manager("ab" * 32)
    launcher = one.get_file("launcher.so")
    if launcher is None:
        launcher = one.put(b"\\x7fELF a launcher", "launcher.so", binary=True)
    tuned = get_cache_manager("cd" * 32)
    best = tuned.get_file("scale.autotune.json") or tuned.put(json.dumps({"best": 1}), "scale.autotune.json", binary=False)
    said = {name: hashlib.sha256(data if isinstance(data, bytes) else str(data).encode()).hexdigest()
            for name, data in kernel.asm.items()}
    print(json.dumps({"asm": said, "launcher": open(launcher, "rb").read().decode("latin1"), "best": open(best).read()}))
    """
)


class TritonTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.own = os.path.join(self.folder, "triton")
        self.program = os.path.join(self.folder, "program.py")
        with open(self.program, "w") as file:
            file.write(_PROGRAM)

    def run_it(self, world, manager="hearth.triton:CacheManager", **more):
        environment = {
            **os.environ,
            "TRITON_CACHE_DIR": self.own,
            "HEARTH_DIR": os.path.join(self.folder, "cache"),
            **more,
        }
        if manager:
            environment["TRITON_CACHE_MANAGER"] = manager
        result = subprocess.run(
            [sys.executable, self.program, world], env=environment, capture_output=True, text=True, timeout=100
        )
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

    def test_what_triton_had_before_is_used_and_not_taken_for_our_own(self):
        first, _ = self.run_it("compiles", manager=None)
        self.assertEqual(self.run_it("answered")[0], first)
        shutil.rmtree(self.own)
        with self.assertRaisesRegex(AssertionError, "is being compiled"):
            self.run_it("answered")

    def test_what_was_overridden_is_nobody_elses(self):
        override = os.path.join(self.folder, "override")
        first, _ = self.run_it("compiles", TRITON_KERNEL_DUMP="1", TRITON_DUMP_DIR=override)
        shutil.rmtree(self.own)
        shutil.rmtree(os.path.join(self.folder, "cache"))
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
        blocked = os.path.join(self.folder, "blocked")
        with open(blocked, "w"):
            pass
        first, _ = self.run_it("compiles", HEARTH_DIR=blocked)
        self.assertEqual(self.run_it("answered", HEARTH_DIR=blocked)[0], first)

    def test_eight_processes_at_once_get_the_same(self):
        environment = {
            **os.environ,
            "TRITON_CACHE_DIR": self.own,
            "TRITON_CACHE_MANAGER": "hearth.triton:CacheManager",
            "HEARTH_DIR": os.path.join(self.folder, "cache"),
        }
        started = [
            subprocess.Popen([sys.executable, self.program, "compiles"], env=environment, stdout=subprocess.PIPE)
            for _ in range(8)
        ]
        said = {process.communicate(timeout=200)[0] for process in started}
        self.assertEqual(len(said), 1)


if __name__ == "__main__":
    if triton is None:
        print("skipped: Triton is not installed.")
    else:
        support.main()
