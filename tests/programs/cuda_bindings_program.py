"""NVIDIA's own Python bindings, on a machine that need not have a GPU."""

import hashlib
import sys

try:
    from cuda.bindings import nvrtc

    nvrtc.nvrtcVersion()
except Exception as error:  # no bindings, or no NVRTC that they can use
    print("skipped:", error)
    sys.exit(77)

SOURCE = b"template <typename T> __global__ void scale(T* x, T by) { x[threadIdx.x] *= by; }"


def call(result):
    error, *values = result
    if error != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise RuntimeError(nvrtc.nvrtcGetErrorString(error)[1].decode())
    return values[0] if values else None


print("version", call((lambda e, a, b: (e, (a, b)))(*nvrtc.nvrtcVersion())), call(nvrtc.nvrtcGetSupportedArchs())[1:3])
program = call(nvrtc.nvrtcCreateProgram(SOURCE, b"scale.cu", 0, [], []))
call(nvrtc.nvrtcAddNameExpression(program, b"scale<float>"))
options = [b"-arch=sm_90", b"-std=c++17"]
call(nvrtc.nvrtcCompileProgram(program, len(options), options))
for what in ("CUBIN", "PTX", "ProgramLog"):
    data = b" " * call(getattr(nvrtc, "nvrtcGet" + what + "Size")(program))
    call(getattr(nvrtc, "nvrtcGet" + what)(program, data))
    print(what, len(data), hashlib.sha256(data).hexdigest()[:16])
print("name", call(nvrtc.nvrtcGetLoweredName(program, b"scale<float>")))
call(nvrtc.nvrtcDestroyProgram(program))
