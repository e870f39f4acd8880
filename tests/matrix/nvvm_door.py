"""A program that knows nothing of Hearth: nvvm_door.py LIBRARY SOURCE OUT TIMES. Verifies and compiles NVVM IR so many
times, in programs of their own, and writes the PTX."""

import ctypes
import sys

library, source, out, times = sys.argv[1:]
nvvm = ctypes.CDLL(library)


def check(status):
    if status != 0:
        sys.exit(10 + status)


for _ in range(int(times)):
    program = ctypes.c_void_p()
    text = open(source, "rb").read()
    check(nvvm.nvvmCreateProgram(ctypes.byref(program)))
    check(nvvm.nvvmAddModuleToProgram(program, text, ctypes.c_size_t(len(text)), b"k.ll"))
    options = (ctypes.c_char_p * 1)(b"-arch=compute_80")
    check(nvvm.nvvmVerifyProgram(program, 1, options))
    check(nvvm.nvvmCompileProgram(program, 1, options))
    size = ctypes.c_size_t()
    check(nvvm.nvvmGetCompiledResultSize(program, ctypes.byref(size)))
    ptx = ctypes.create_string_buffer(size.value)
    check(nvvm.nvvmGetCompiledResult(program, ptx))
    open(out, "wb").write(ptx.raw[:-1])
    check(nvvm.nvvmDestroyProgram(ctypes.byref(program)))
