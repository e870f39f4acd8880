"""The same from Python: nvrtc_door.py LIBRARY SOURCE OUT TIMES."""

import ctypes
import sys

library, source, out, times = sys.argv[1:]
nvrtc = ctypes.CDLL(library)


def check(status):
    if status != 0:
        sys.exit(10 + status)


for _ in range(int(times)):
    program = ctypes.c_void_p()
    text = open(source, "rb").read()
    check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, b"k.cu", 0, None, None))
    options = (ctypes.c_char_p * 1)(b"--gpu-architecture=compute_80")
    check(nvrtc.nvrtcCompileProgram(program, 1, options))
    size = ctypes.c_size_t()
    check(nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size)))
    ptx = ctypes.create_string_buffer(size.value)
    check(nvrtc.nvrtcGetPTX(program, ptx))
    open(out, "wb").write(ptx.raw[:-1])
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
