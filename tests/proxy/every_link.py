"""Uses every nvJitLink call, rightly and wrongly, under both spellings, and prints what came back. It knows nothing of
Hearth.

  every_link.py LIBRARY FOLDER      FOLDER is for files
"""

import ctypes
import hashlib
import os
import sys

path, folder = sys.argv[1:]
library = ctypes.CDLL(path)
PLAIN = (b"-arch=sm_80",)
AS_CUBIN, AS_PTX, AS_ANY = 1, 2, 10
# With the zero behind it.
FIRST, SECOND = (
    b".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry %s(.param .u64 p) { ret; }\n\0" % name
    for name in (b"first", b"second")
)


class Link:
    def __init__(self, spelling, what, options=PLAIN):
        self.spelling, self.handle = spelling, ctypes.c_void_p()
        given = (ctypes.c_char_p * len(options))(*options)
        print(f"{what}: create", self.call("Create", ctypes.byref(self.handle), len(options), given), end=" ")
        print("there" if self.handle else "none")

    def call(self, name, *arguments):
        return getattr(library, self.spelling.format(name))(*arguments)

    def add(self, what, kind, data, size, name=None):
        print("  add", what, self.call("AddData", self.handle, kind, data, ctypes.c_size_t(size), name))

    def add_file(self, what, file):
        print("  add", what, self.call("AddFile", self.handle, AS_PTX, file.encode()))

    def get(self, name, filled_with):
        """With what lies behind the bytes, which nobody may write to."""
        size = ctypes.c_size_t(4711)
        sized = self.call(f"Get{name}Size", self.handle, ctypes.byref(size))
        place = ctypes.create_string_buffer(filled_with * (size.value + 64))
        return sized, size.value, self.call(f"Get{name}", self.handle, place), place

    def show(self):
        for name in ("LinkedCubin", "LinkedPtx"):
            *numbers, place = self.get(name, b"Z")
            print(" ", name, *numbers, hashlib.sha256(place.raw).hexdigest())
        # Some end a log that is empty, and some do not.
        *numbers, place = self.get("ErrorLog", b"\0")
        print("  errors", *numbers, "|" + place.value.decode())
        # Lines that tell a time are never the same twice, nor is the size of what has some.
        sized, _, got, place = self.get("InfoLog", b"\0")
        print("  information", sized, got, *(line for line in place.value.split(b"\n") if b"Compile time" not in line))

    def complete(self):
        print("  complete", self.call("Complete", self.handle))
        self.show()

    def end(self):
        print("  destroy", self.call("Destroy", ctypes.byref(self.handle)), "kept" if self.handle else "null")


def use_all(spelling):
    link = Link(spelling, "plain")
    link.show()
    link.add("PTX", AS_PTX, FIRST, len(FIRST), b"first.ptx")
    link.show()
    link.complete()
    link.end()

    # The zero is there, but not counted.
    link = Link(spelling, "without its zero")
    link.add("PTX", AS_PTX, FIRST, len(FIRST) - 1, b"first.ptx")
    link.complete()
    link.end()

    link = Link(spelling, "two, verbose", (*PLAIN, b"-verbose"))
    link.add("PTX", AS_PTX, FIRST, len(FIRST), b"first.ptx")
    link.add("anything", AS_ANY, SECOND, len(SECOND))
    link.complete()
    link.end()

    link = Link(spelling, "a file")
    link.add_file("it", os.path.join(folder, "good.ptx"))
    link.complete()
    link.end()

    for option in (b"-no-such-option", b"-O3"):
        link = Link(spelling, "no target" if option == b"-O3" else "unknown option", (option,))
        if link.handle:
            link.show()
            link.end()
    link = Link(spelling, "garbage")
    link.add("garbage", AS_PTX, b"garbage\0", 8, b"g.ptx")
    link.show()
    link.add("as a cubin", AS_CUBIN, FIRST, len(FIRST), b"c")
    link.add("nothing", AS_PTX, None, 0)
    link.add_file("a missing file", os.path.join(folder, "missing.ptx"))
    link.add_file("a directory", folder)
    link.show()
    link.complete()
    link.end()


with open(os.path.join(folder, "good.ptx"), "wb") as file:
    file.write(FIRST[:-1])
numbers = ctypes.c_uint(), ctypes.c_uint()
print("version", library.nvJitLinkVersion(*map(ctypes.byref, numbers)), *(number.value for number in numbers))
inner = "__nvJitLink{}_12_0" if ".so.12" in path else "__nvJitLink{}_13_0"
use_all("nvJitLink{}")
use_all(inner)
if "EVERY_LINK_MISUSE" in os.environ:
    link = Link(inner, "twice")
    nothing = ctypes.byref(ctypes.c_void_p())
    print("misuse", link.call("Create", None, 1, (ctypes.c_char_p * 1)(*PLAIN)), link.call("Create", nothing, 0, None))
    print(" ", link.call("Destroy", None), link.call("Destroy", nothing), link.call("Complete", None))
    print(" ", link.call("GetLinkedCubinSize", None, ctypes.byref(ctypes.c_size_t())))
    print(" ", link.call("AddData", None, AS_PTX, FIRST, ctypes.c_size_t(len(FIRST)), b"x"))
    link.add("PTX", AS_PTX, FIRST, len(FIRST), b"first.ptx")
    link.complete()
    link.complete()
    link.end()
