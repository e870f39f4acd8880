"""A program of Triton: scale_with_triton.py compiles|answered|poisons.

It compiles a kernel, a launcher and the result of an autotuner for a GPU that need not be here, and says what it got. In
the world "answered" the compilers are gone. In the world "poisons" what it keeps is replaced by what Python's JSON parser
fails with.
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

if sys.argv[1] == "poisons":
    import hearth.triton
    def poison(self, filename, paths):
        sections = {name: b"[" * 100_000 for name in paths}
        hearth.Cache.shared().put(self._key(filename), sections)
    hearth.triton.CacheManager._keep = poison

@triton.jit
def scale(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)

source = ASTSource(fn=scale, signature={"x": "*fp32", "n": "i32", "BLOCK": "constexpr"}, constexprs={"BLOCK": 128})
kernel = triton.compile(source, target=GPUTarget("cuda", 90, 32))
one = get_cache_manager("ab" * 32)
launcher = one.get_file("launcher.so")
if launcher is None:
    launcher = one.put(b"\x7fELF a launcher", "launcher.so", binary=True)
tuned = get_cache_manager("cd" * 32)
best = tuned.get_file("scale.autotune.json")
if best is None:
    timings = {"configs_timings": [[triton.Config({"BLOCK": 128}).__dict__, [0.1, 0.1, 0.2]]]}
    best = tuned.put(json.dumps(timings), "scale.autotune.json", binary=False)
said = {name: hashlib.sha256(data if isinstance(data, bytes) else str(data).encode()).hexdigest()
        for name, data in kernel.asm.items()}
print(json.dumps({"asm": said, "launcher": open(launcher, "rb").read().decode("latin1"), "best": open(best).read()}))
