#!/usr/bin/env python3
"""`hearth exec`, ccache and sccache with nvcc and g++ in worlds that change: right or wrong, and how long a hit takes.

    bench/compilers_beside_rivals.py [--json FILE] [--only TEXT] [--tries N]

Each case compiles in a world A through a tool, changes the world to B, compiles again through the tool, and compares
what it gave with what the compiler itself gives in B. The tools run with their own defaults, each with an empty cache
for every case. A tool that is not installed is left out and named (scripts/install-deps bench).
"""

import argparse
import json
import os
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rivals.tools import Ccache, Hearth, Sccache, run
from rivals.worlds import CASES, GXX, NVCC, World

ROOT = Path(__file__).resolve().parent.parent


def content(path):
    """nvcc's objects hold the number of the process that made them, and nothing else that changes by itself."""
    return re.sub(rb"tmpxft_[0-9a-f]{8}_", b"tmpxft_00000000_", path.read_bytes())


def loaded_sections(elf):
    """What a program gets of an object: names and bytes of the sections that are loaded."""
    (table,) = struct.unpack_from("<Q", elf, 0x28)
    size, count, names = struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", elf, table + i * size) for i in range(count)]
    text = elf[headers[names][4]:]
    return [(text[at:text.index(b"\0", at)], kind, elf[offset:offset + length] if kind != 8 else length)
            for at, kind, flags, _, offset, length in headers if flags & 2]


def is_right(tool, given, expected):
    """To the byte; of a tool that calls things otherwise, what a program gets of it."""
    if given == expected or tool.keeps_symbols:
        return given == expected
    return b"cudafe1.cpp" in expected and loaded_sections(given) == loaded_sections(expected)


def environment_of(world, tool=None):
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("HEARTH_", "CCACHE_", "SCCACHE_", "NVCC_")) and name not in ("CPATH",)}
    return {**kept, **world.variables, **(tool.variables if tool else {})}


def compile_in(world, tool=None):
    """The object's content, and the milliseconds that it took."""
    output = world.directory / world.output
    output.unlink(missing_ok=True)
    words = tool.words(world.command) if tool else world.command
    start = time.perf_counter()
    code, out, err = run(words, world.directory, environment_of(world, tool))
    took = (time.perf_counter() - start) * 1e3
    if code != 0 or not output.exists():
        sys.exit(f"{' '.join(words)} failed in {world.directory}: {out}{err}")
    return content(output), took


class Trial:
    """A case with one tool: filled in A when it is made, then asked again and again, then asked in B."""

    def __init__(self, make, tool, folder):
        tool.empty()
        self.tool = tool
        self.world = World(folder)
        self.change = make(self.world)
        self.world.age()
        self.expected, self.bare_ms = compile_in(self.world)
        self.given = [compile_in(self.world, tool)[0]]
        self.times = []
        self.counted = tool.counts()

    def ask_again(self):
        given, took = compile_in(self.world, self.tool)
        self.given.append(given)
        self.times.append(took)

    def result(self):
        hits, compiles = self.tool.counts()
        kept = compiles == self.counted[1] and hits > self.counted[0]
        self.change()
        expected, _ = compile_in(self.world)
        changes_nothing = getattr(self.change, "is_the_same", False)
        if is_right(self.tool, self.expected, expected) != changes_nothing:
            sys.exit(f"A case proves nothing: the compiler itself gives {'another' if changes_nothing else 'the same'} "
                     f"object after {' '.join(self.world.command)}.")
        given, took = compile_in(self.world, self.tool)
        right = is_right(self.tool, given, expected)
        right &= all(is_right(self.tool, one, self.expected) for one in self.given)
        return {"right": right, "kept": kept, "again_ms": statistics.median(self.times), "bare_ms": self.bare_ms,
                "in_b_ms": took,
                "compiled_in_b": self.tool.counts()[1] > compiles}


def try_case(make, tools, scratch, tries):
    trials = {tool.name: Trial(make, tool, scratch / type(tool).__name__ / make.__name__) for tool in tools}
    for _ in range(tries):  # in turn, so that all see the same machine
        for trial in trials.values():
            trial.ask_again()
    return {name: trial.result() for name, trial in trials.items()}


def cell_of(result, changes_nothing):
    word = "right" if result["right"] else "**wrong**"
    if changes_nothing and result["right"]:
        word = f"right, {'compiles' if result['compiled_in_b'] else 'a hit'} in {result['in_b_ms']:.1f} ms"
    if not result["kept"]:
        return f"{word}; never kept, {result['again_ms']:.0f} ms"
    return f"{word}; {result['again_ms']:.1f} ms"


def compiles_of_many(tool, folder, count, with_ninja):
    """How many compiles it takes when many ask at once for the same. Each compile of nvcc gives other bytes."""
    tool.empty()
    world = World(folder)
    world.kernel("#define VALUE 1")
    world.age()
    names = [f"k{i}.o" for i in range(count)]
    commands = [tool.words([*world.command[:-1], name]) for name in names]
    environment = {**environment_of(world, tool), **tool.to_count}
    if with_ninja:
        rules = [f"rule r{i}\n  command = {' '.join(words)}\nbuild {name}: r{i} k.cu\n"
                 for i, (name, words) in enumerate(zip(names, commands))]
        world.write("build.ninja", "".join(rules))
        code, out, err = run(["ninja", f"-j{count}"], world.folder, environment)
        if code != 0:
            sys.exit(f"ninja failed: {out}{err}")
    else:
        started = [subprocess.Popen(words, cwd=world.folder, env=environment) for words in commands]
        if any(process.wait() != 0 for process in started):
            sys.exit(f"{' '.join(commands[0])} failed beside others")
    different = len({(world.folder / name).read_bytes() for name in names})
    bare, _ = compile_in(world)
    right = all(is_right(tool, content(world.folder / name), bare) for name in names)
    return {"right": right, "compiles": max(different, tool.compiles())}


MANY = [("nvcc: 4 jobs of ninja want one result", 4, True), ("nvcc: 16 processes want one result", 16, False)]


def find_tools(arguments, scratch):
    found, absent = [], []
    for kind, program in ((Hearth, arguments.hearth), (Ccache, "ccache"), (Sccache, "sccache")):
        path = shutil.which(program) or shutil.which(program, path=Path.home() / ".local/bin")
        if path:
            found.append(kind(path, scratch / "tools" / kind.__name__.lower()))
        else:
            absent.append(kind.name)
    return found, absent


def machine():
    nvcc = run([NVCC, "--version"], "/", os.environ)[1] if Path(NVCC).exists() else ""
    release = re.search(r"V([0-9.]+)", nvcc)
    gxx = run([GXX, "-dumpfullversion"], "/", os.environ)[1].strip()
    return {"machine": os.uname().machine, "cores": os.cpu_count(), "nvcc": release.group(1) if release else None,
            "g++": gxx}


def measure(arguments, scratch, tools):
    os.environ["PATH"] = f"{Path(NVCC).parent}:{os.environ['PATH']}"  # sccache's server looks there for nvcc's parts
    rows = []
    has_nvcc = Path(NVCC).exists()
    for title, make in CASES:
        if arguments.only not in title or (title.startswith("nvcc") and not has_nvcc):
            continue
        results = try_case(make, tools, scratch, arguments.tries)
        for result in results.values():
            result["text"] = cell_of(result, "another directory" in title)
        rows.append({"case": title, "results": results})
        print(f"  {title}", file=sys.stderr)
    for title, count, with_ninja in MANY:
        if arguments.only not in title or not has_nvcc or (with_ninja and not shutil.which("ninja")):
            continue
        results = {}
        for tool in tools:
            result = compiles_of_many(tool, scratch / type(tool).__name__ / f"many{count}", count, with_ninja)
            text = f"{'right' if result['right'] else '**wrong**'}; {result['compiles']} compiles"
            results[tool.name] = {**result, "text": text.replace(" 1 compiles", " 1 compile")}
        rows.append({"case": title, "results": results})
        print(f"  {title}", file=sys.stderr)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hearth", default=str(ROOT / "build/hearth"), help="the command (build/hearth)")
    parser.add_argument("--json", metavar="FILE", help="write the results there, too")
    parser.add_argument("--only", default="", metavar="TEXT", help="only the cases whose titles hold this")
    parser.add_argument("--tries", type=int, default=7, help="how often a hit is timed (7); the median counts")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rivals-") as folder:
        scratch = Path(folder)
        tools, absent = find_tools(arguments, scratch)
        versions = {tool.name: tool.version() for tool in tools}
        try:
            rows = measure(arguments, scratch, tools)
        finally:
            for tool in tools:
                tool.close()
    about = machine()
    names = [tool.name for tool in tools]
    print(f"| | {' | '.join(f'{name} {versions[name]}' for name in names)} |")
    print("|---|" + "---|" * len(names))
    for row in rows:
        print(f"| {row['case']} | {' | '.join(row['results'][name]['text'] for name in names)} |")
    print(f"\n{about['machine']}, {about['cores']} cores, nvcc {about['nvcc']}, g++ {about['g++']}; "
          f"a hit is the median of {arguments.tries} whole processes.")
    for name in absent:
        print(f"Left out: {name}, which is not installed (scripts/install-deps bench).")
    if arguments.json:
        written = {"about": about, "versions": versions, "absent": absent, "rows": rows}
        Path(arguments.json).write_text(json.dumps(written, indent=1) + "\n")
    wrong = [row["case"] for row in rows if not row["results"].get(Hearth.name, {"right": True})["right"]]
    if wrong:
        sys.exit(f"hearth exec was wrong: {'; '.join(wrong)}")


if __name__ == "__main__":
    main()
