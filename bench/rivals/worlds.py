"""Worlds in which something compiles, and what they change to: the cases of compilers_beside_rivals.py."""

import os
import shutil
import time
from pathlib import Path

NVCC = "/usr/local/cuda/bin/nvcc"
GXX = "/usr/bin/g++"


class World:
    """A folder with a source, a command that compiles it, variables; what it is changed to is the case's own."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True)
        self.variables = {}
        self.command = []
        self.directory = self.folder  # where the command runs
        self.output = "k.o"

    def write(self, name, text, executable=False):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink():
            path.unlink()
        path.write_text(text)
        if executable:
            path.chmod(0o755)

    def age(self):
        """Caches distrust files that have just been written; these were not."""
        then = time.time() - 60
        for path in self.folder.rglob("*"):
            if path.is_file() and not path.is_symlink():
                os.utime(path, (then, then))

    def kernel(self, includes, *options):
        uses = "__global__ void k(int* x) { *x = VALUE; }\nint host_value() { return VALUE; }\n"
        self.write("k.cu", includes + "\n" + uses)
        self.command = [NVCC, "-arch=sm_80", *options, "-c", "k.cu", "-o", "k.o"]

    def plain(self, text, *options):
        self.write("k.cpp", text)
        self.command = [GXX, "-O2", *options, "-c", "k.cpp", "-o", "k.o"]


VALUE_1, VALUE_2 = "#define VALUE 1\n", "#define VALUE 2\n"
CASES = []


def case(title):
    """The function makes the world A and returns a function that changes it to B."""

    def add(function):
        CASES.append((title, function))
        return function

    return add


@case("nvcc: edited: a header that only the host's pass includes")
def host_header(world):
    world.kernel('#ifndef __CUDA_ARCH__\n#include "host.h"\n#endif\n#define VALUE 1')
    world.write("host.h", 'const char* said() { return "A"; }\n')
    return lambda: world.write("host.h", 'const char* said() { return "B"; }\n')


@case("nvcc: edited: a header that only the second of two targets includes")
def second_target(world):
    world.kernel('#if __CUDA_ARCH__ + 0 >= 900\n#include "value.h"\n#else\n#define VALUE 0\n#endif', "-gencode",
                 "arch=compute_80,code=sm_80", "-gencode", "arch=compute_90,code=sm_90")
    world.command.remove("-arch=sm_80")
    world.write("value.h", VALUE_1)
    return lambda: world.write("value.h", VALUE_2)


@case("nvcc: edited: a header that only the device's pass includes")
def device_header(world):
    world.kernel('#ifdef __CUDA_ARCH__\n#include "value.h"\n#else\n#define VALUE 0\n#endif')
    world.write("value.h", VALUE_1)
    return lambda: world.write("value.h", VALUE_2)


@case("nvcc: a header appears earlier on the -I path")
def header_appears(world):
    world.kernel("#include <value.h>", "-Ifirst", "-Isecond")
    world.write("first/other.h", "")
    world.write("second/value.h", VALUE_1)
    return lambda: world.write("first/value.h", VALUE_2)


@case("nvcc: __has_include of a header that appears")
def has_include(world):
    world.kernel('#if __has_include("value.h")\n#include "value.h"\n#else\n#define VALUE 1\n#endif')
    return lambda: world.write("value.h", VALUE_2)


@case("nvcc: NVCC_APPEND_FLAGS changes")
def append_flags(world):
    world.kernel("")
    world.variables["NVCC_APPEND_FLAGS"] = "-DVALUE=1"
    return lambda: world.variables.update(NVCC_APPEND_FLAGS="-DVALUE=2")


@case("nvcc: nvcc.profile is edited")
def profile(world):
    toolkit = Path(NVCC).resolve().parent.parent
    copy = world.folder / "toolkit"
    (copy / "bin").mkdir(parents=True)
    for path in toolkit.iterdir():
        if path.name != "bin":
            (copy / path.name).symlink_to(path)
    for path in (toolkit / "bin").iterdir():
        if path.name != "nvcc.profile":
            (copy / "bin" / path.name).symlink_to(path)
    text = (toolkit / "bin/nvcc.profile").read_text()
    folders = {name: f'\nINCLUDES += "-I{world.folder}/{name}" $(_SPACE_)\n' for name in ("one", "two")}
    world.kernel("#include <value.h>")
    world.command[0] = str(copy / "bin/nvcc")
    world.write("one/value.h", VALUE_1)
    world.write("two/value.h", VALUE_2)
    world.write("toolkit/bin/nvcc.profile", text + folders["one"])
    return lambda: world.write("toolkit/bin/nvcc.profile", text + folders["two"])


@case("nvcc: the compiler that -ccbin names is replaced")
def host_compiler(world):
    script = '#!/bin/sh\nexec /usr/bin/g++ -DSAID=\'"{}"\' "$@"\n'
    world.kernel("#ifndef SAID\n#define SAID 0\n#endif\nconst char* said() { return SAID; }\n#define VALUE 1", "-ccbin",
                 str(world.folder / "tools/g++"))
    world.write("tools/g++", script.format("A"), executable=True)
    return lambda: world.write("tools/g++", script.format("B"), executable=True)


@case("nvcc: a -gencode is added")
def target_added(world):
    world.kernel("#define VALUE 1")

    def change():
        world.command[1:2] = ["-gencode", "arch=compute_80,code=sm_80", "-gencode", "arch=compute_90,code=sm_90"]

    return change


@case("nvcc: a file of options (-optf) is edited")
def options_file(world):
    world.kernel("", "-optf", "options")
    world.write("options", "-DVALUE=1\n")
    return lambda: world.write("options", "-DVALUE=2\n")


@case("nvcc: the same source in another directory")
def other_directory(world):
    world.kernel('#include "value.h"')
    world.write("value.h", VALUE_1)

    def change():
        there = world.folder / "there"
        there.mkdir()
        for name in ("k.cu", "value.h"):
            shutil.copy(world.folder / name, there / name)
        world.directory = there

    change.is_the_same = True
    return change


@case("g++: edited: a header")
def plain_header(world):
    world.plain('#include "value.h"\nint value() { return VALUE; }\n')
    world.write("value.h", VALUE_1)
    return lambda: world.write("value.h", VALUE_2)


@case("g++: a header appears earlier on the -I path")
def plain_header_appears(world):
    world.plain("#include <value.h>\nint value() { return VALUE; }\n", "-Ifirst", "-Isecond")
    world.write("first/other.h", "")
    world.write("second/value.h", VALUE_1)
    return lambda: world.write("first/value.h", VALUE_2)


@case("g++: __has_include of a header that appears")
def plain_has_include(world):
    world.plain('#if __has_include("value.h")\n#include "value.h"\n#else\n#define VALUE 1\n#endif\n'
                "int value() { return VALUE; }\n")
    return lambda: world.write("value.h", VALUE_2)


@case("g++: CPATH changes")
def cpath(world):
    world.plain("#include <value.h>\nint value() { return VALUE; }\n")
    world.write("one/value.h", VALUE_1)
    world.write("two/value.h", VALUE_2)
    world.variables["CPATH"] = str(world.folder / "one")
    return lambda: world.variables.update(CPATH=str(world.folder / "two"))


@case("g++: a file of arguments (@file) is edited")
def arguments_file(world):
    world.plain("int value() { return VALUE; }\n", "@arguments")
    world.write("arguments", "-DVALUE=1\n")
    return lambda: world.write("arguments", "-DVALUE=2\n")


@case("g++: edited: a file that the assembler includes (.incbin)")
def assembler_file(world):
    world.plain('asm(".section .rodata\\n.incbin \\"bytes\\"\\n.previous");\n')
    world.write("bytes", "AAAA")
    return lambda: world.write("bytes", "BBBB")


@case("g++: the compiler's own part (-B) is replaced")
def compiler_part(world):
    world.plain("int value() { return 1; }\n", "-B", str(world.folder / "tools/"))
    script = '#!/bin/sh\nexec /usr/bin/as --defsym said={} "$@"\n'
    world.write("tools/as", script.format(1), executable=True)
    return lambda: world.write("tools/as", script.format(2), executable=True)


@case("g++: the same source in another directory")
def plain_other_directory(world):
    world.plain('#include "value.h"\nint value() { return VALUE; }\n')
    world.write("value.h", VALUE_1)

    def change():
        there = world.folder / "there"
        there.mkdir()
        for name in ("k.cpp", "value.h"):
            shutil.copy(world.folder / name, there / name)
        world.directory = there

    change.is_the_same = True
    return change
