"""A service that compiles its kernels when it starts, and knows nothing of Hearth: service.py TARGET INCLUDE_DIRECTORY.
Prints what it got; ends with 1 where a compile failed."""

import ctypes
import hashlib
import sys

target, include = (word.encode() for word in sys.argv[1:])
try:
    nvrtc = ctypes.CDLL("libnvrtc.so.13")
except OSError:
    try:
        nvrtc = ctypes.CDLL("libnvrtc.so.12")
    except OSError:
        sys.exit(77)
SAXPY = b"""extern "C" __global__ void saxpy(int n, float a, const float* x, float* y)
{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += a * x[i]; }"""


def get(program, what):
    size = ctypes.c_size_t()
    getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    data = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{what}")(program, data)
    return data.raw


failed = False
for name, source, expression in ((b"saxpy.cu", SAXPY, None), (b"scale.cu", b"#include <scale.h>", b"scale<float>")):
    program, lowered = ctypes.c_void_p(), ctypes.c_char_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, name, 0, None, None)
    if expression:
        nvrtc.nvrtcAddNameExpression(program, expression)
    options = (ctypes.c_char_p * 3)(b"-arch=" + target, b"-I" + include, b"-std=c++17")
    status = nvrtc.nvrtcCompileProgram(program, 3, options)
    print(f"{name.decode()}: {status}", get(program, "ProgramLog"), hashlib.sha256(get(program, "CUBIN")).hexdigest())
    if expression:
        nvrtc.nvrtcGetLoweredName(program, expression, ctypes.byref(lowered))
        print(" ", lowered.value)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    failed |= status != 0
sys.exit(failed)
