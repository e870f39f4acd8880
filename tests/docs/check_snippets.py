#!/usr/bin/env python3
"""Compiles the C++ that documents show, as a program of a reader's would: with -Wall -Wextra, and a warning is an error.

  check_snippets.py COMPILER INCLUDE FILE.md...      exit 0: all compile; else the compiler's words

Each snippet is the body of a function of its own, or a whole program if it has a main(). What it takes for given, such
as `source`, stands in snippets.hpp.
"""

import pathlib
import re
import subprocess
import sys

SNIPPET = re.compile(r"^```cpp\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def program_of(path):
    """One source of all snippets of a file, with the lines of errors those of the file; and how many there are."""
    text = path.read_text()
    includes = []
    functions = []
    for number, match in enumerate(SNIPPET.finditer(text)):
        line = text.count("\n", 0, match.start()) + 2
        body = []
        for shown in match.group(1).splitlines():
            if shown.startswith("#include"):
                includes.append(shown)
                shown = ""
            body.append(shown)
        text_of = f'#line {line} "{path}"\n' + "\n".join(body) + "\n"
        functions.append(text_of if "int main()" in text_of else f"void snippet_{number}()\n{{\n{text_of}}}\n")
    return "\n".join(includes) + '\n#include "snippets.hpp"\n' + "\n".join(functions), len(functions)


def main(compiler, include, *files):
    failed = False
    for path in map(pathlib.Path, files):
        program, snippets = program_of(path)
        if snippets == 0:
            print(f"{path} shows no C++: there is nothing to check, which cannot be meant.")
            failed = True
            continue
        command = [compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{include}",
                   f"-I{pathlib.Path(__file__).parent}", "-x", "c++", "-"]
        failed |= subprocess.run(command, input=program, text=True, check=False).returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
