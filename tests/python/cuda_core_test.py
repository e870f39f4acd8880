"""hearth.cuda_core: NVIDIA's cuda.core compiles with NVRTC, in processes that have nothing but Hearth in common."""

import textwrap

import support

_PROGRAM = textwrap.dedent(
    """
    import hashlib, sys
    from cuda.core import Program, ProgramOptions
    import hearth.cuda_core
    cache = hearth.cuda_core.ProgramCache()
    if sys.argv[1] == "answered":
        def refuse(key, value):
            raise AssertionError("This was to be in the cache, and was compiled.")
        hearth.cuda_core.ProgramCache.__setitem__ = lambda self, key, value: refuse(key, value)
    program = Program('extern "C" __global__ void scale(float* x) { x[threadIdx.x] *= 2; }', "c++", ProgramOptions(arch="sm_90"))
    print(hashlib.sha256(bytes(program.compile("cubin", cache=cache).code)).hexdigest())
    """
)
_MAPPING = textwrap.dedent(
    """
    import hearth.cuda_core
    cache = hearth.cuda_core.ProgramCache()
    cache["k"] = b"value"
    assert cache[b"k"] == b"value" and cache.get("k") == b"value" and cache.get("other") is None
    del cache["k"]
    for ask in (lambda: cache["k"], lambda: cache.__delitem__("k")):
        try:
            ask()
        except KeyError:
            pass
        else:
            raise AssertionError("a KeyError was expected")
    with cache:
        cache.update({"a": b"1", "b": bytearray(b"2")})
    assert cache["a"] + cache["b"] == b"12" and cache
    """
)


class CudaCoreTest(support.FolderTest):
    def run_it(self, program, *arguments, **more):
        return self.start([support.PYTHON, "-c", program, *arguments], self.environment(**more))

    def check(self, program, *arguments):
        done = self.run_it(program, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_what_one_process_compiled_another_has(self):
        self.assertEqual(self.check(_PROGRAM, "compiles"), self.check(_PROGRAM, "answered"))

    def test_it_is_the_mapping_that_cuda_core_wants(self):
        self.check(_MAPPING)

    def test_a_compile_that_is_forbidden_is_an_error(self):
        done = self.run_it(_PROGRAM, "compiles", HEARTH_FORBID_COMPILE="1")
        self.assertIn("a program of cuda.core is missing, and this cache may not compile it", done.stderr)
        self.assertNotEqual(done.returncode, 0)


if __name__ == "__main__":
    support.main_with("from cuda.core.utils import ProgramCacheResource")
