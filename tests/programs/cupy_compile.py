"""CuPy's way from a source to code, on a machine that need not have a GPU: all but the load of the module."""

import os
import tempfile

from needs import digest, needs

with needs():
    from cupy.cuda import compiler
    from cupy_backends.cuda.libs import nvrtc

    nvrtc.getVersion()

SAXPY = """extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}"""
HALF = """#include <cuda_fp16.h>
extern "C" __global__ void twice(__half* x) { x[threadIdx.x] = __hadd(x[threadIdx.x], x[threadIdx.x]); }"""
SCALE = "template <typename T> __global__ void scale(T* x, T by) { x[threadIdx.x] *= by; }"
BOTH = ("scale<float>", "scale<double>")
OPTIONS = ("-std=c++17", "-I" + os.path.join(os.environ.get("CUDA_PATH", "/usr/local/cuda"), "include"))


def show(what, result):
    code, names = result
    print(what, digest(code), sorted((names or {}).items()))


def compile_as_cupy(source, name, names, method, target):
    # CuPy gives every program a directory of its own, with a name that is new each time.
    with tempfile.TemporaryDirectory() as folder:
        program = compiler._NVRTCProgram(source, os.path.join(folder, name), name_expressions=names, method=method)
        return program.compile(OPTIONS + ("-arch=" + target, "--device-as-default-execution-space"))


for name, source, names in (("saxpy.cu", SAXPY, None), ("half.cu", HALF, None), ("scale.cu", SCALE, BOTH)):
    show(name + " PTX", compile_as_cupy(source, name, names, "ptx", "compute_80"))
    show(name + " CUBIN", compile_as_cupy(source, name, names, "cubin", "sm_90"))
try:
    compile_as_cupy("this is no kernel", "broken.cu", None, "ptx", "compute_80")
except compiler.CompileException as error:
    print("refused:", error.get_message().splitlines()[0].split("/")[-1])
