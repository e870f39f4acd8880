"""NVIDIA's own Python bindings, on a machine that need not have a GPU."""

from needs import digest, needs

with needs():
    from cuda.bindings import nvrtc

    nvrtc.nvrtcVersion()

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
    print(what, digest(data))
print("name", call(nvrtc.nvrtcGetLoweredName(program, b"scale<float>")))
call(nvrtc.nvrtcDestroyProgram(program))
