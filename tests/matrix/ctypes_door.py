"""A Python program that knows nothing of Hearth: ctypes_door.py nvrtc|nvvm LIBRARY SOURCE OUT TIMES. Compiles CUDA C++,
or verifies and compiles NVVM IR, so many times, in programs of their own, and writes the PTX."""

import ctypes
import sys

kind, library, source, out, times = sys.argv[1:]
functions = ctypes.CDLL(library)


def call(name, *arguments):
    status = getattr(functions, kind + name)(*arguments)
    if status != 0:
        sys.exit(10 + status)


for _ in range(int(times)):
    program = ctypes.c_void_p()
    text = open(source, "rb").read()
    if kind == "nvrtc":
        options = (ctypes.c_char_p * 1)(b"--gpu-architecture=compute_80")
        call("CreateProgram", ctypes.byref(program), text, b"k.cu", 0, None, None)
    else:
        options = (ctypes.c_char_p * 1)(b"-arch=compute_80")
        call("CreateProgram", ctypes.byref(program))
        call("AddModuleToProgram", program, text, ctypes.c_size_t(len(text)), b"k.ll")
        call("VerifyProgram", program, 1, options)
    call("CompileProgram", program, 1, options)
    size = ctypes.c_size_t()
    call("GetPTXSize" if kind == "nvrtc" else "GetCompiledResultSize", program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    call("GetPTX" if kind == "nvrtc" else "GetCompiledResult", program, ptx)
    open(out, "wb").write(ptx.raw[:-1])
    call("DestroyProgram", ctypes.byref(program))
