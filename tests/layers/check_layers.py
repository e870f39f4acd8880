#!/usr/bin/env python3
"""Checks that every include points in an allowed direction, and that no file includes itself by way of others.

  check_layers.py [ROOT]       exit 0: all is well; 1: what is wrong stands on stdout, a line each

The build already refuses an include of a layer that was not linked (cmake/HearthLayers.cmake). This looks at the whole
tree without a compiler, so it also sees a layer that links what it should not, headers nobody compiles, and cycles.
"""

import pathlib
import re
import sys

# Each layer of src/ may include what is named here, itself, and the public interfaces. "tiers/*" is one layer a folder:
# tiers/disk may not include tiers/memory.
BELOW = {"base", "format", "policy", "gpu", "resident"}
LAYERS = {
    "base": set(),
    "format": {"base"},
    "policy": {"base"},
    "resident": {"base", "policy"},
    "gpu": {"base"},
    "headers": {"base", "format"},
    "remote": {"base", "format", "policy"},
    "engine": BELOW,
    "tiers/*": BELOW | {"remote"},
    "compilers/*": BELOW | {"headers"},
    "config": BELOW | {"engine", "remote", "tiers/*", "compilers/*"},
}
EVERY_LAYER = set(LAYERS)

# What stands outside src/: which layers it may reach into. Tools and examples get the public API and nothing else.
OUTSIDE = {
    "include": set(),
    "tools": set(),
    "examples": set(),
    "proxy": EVERY_LAYER,
    "bindings": EVERY_LAYER,
    "bench": EVERY_LAYER,
}

# The Cache and its options name everything below them, so what is below must not know them. Compilers are users of the
# Cache, and so is what they alone stand on (headers remembers in it what it found in files): they meet it at its public
# interface.
TOP_HEADERS = {"hearth/admin.hpp", "hearth/cache.hpp", "hearth/hearth.hpp", "hearth/options.hpp"}
MAY_USE_TOP = {"engine", "headers", "compilers/*", "config"} | set(OUTSIDE)

STANDARD = set(
    """algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes climits
    clocale cmath codecvt compare complex concepts condition_variable coroutine csetjmp csignal cstdarg cstddef cstdint
    cstdio cstdlib cstring ctime cuchar cwchar cwctype deque exception execution filesystem format forward_list fstream
    functional future initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale map memory
    memory_resource mutex new numbers numeric optional ostream queue random ranges ratio regex scoped_allocator semaphore
    set shared_mutex source_location span sstream stack stdexcept stop_token streambuf string string_view strstream
    syncstream system_error thread tuple type_traits typeindex typeinfo unordered_map unordered_set utility valarray
    variant vector version""".split()
)

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def layer_of(path):
    """The layer of a path below src/ or of an include as written: "tiers/*" for tiers/disk/x.hpp; None when it is none."""
    parts = path.split("/")
    if len(parts) < 2:
        return None
    if parts[0] in LAYERS:
        return parts[0]
    family = parts[0] + "/*"
    return family if family in LAYERS and len(parts) > 2 else None


class File:
    def __init__(self, root, path):
        self.path = path
        self.name = path.relative_to(root).as_posix()
        self.area, _, rest = self.name.partition("/")
        # Of what the rules speak: a layer of src/, or a folder beside it.
        self.place = layer_of(rest) if self.area == "src" else self.area
        # The folder whose files may include each other freely: tiers/disk, not all of tiers.
        depth = self.place.count("/") + 1 if self.place else 1
        self.home = "/".join(rest.split("/")[:depth]) if self.area == "src" else self.area
        text = COMMENT.sub(lambda match: "\n" * match.group().count("\n"), path.read_text(errors="replace"))
        self.includes = [(match.group(1) == '"', match.group(2), text.count("\n", 0, match.start()) + 1)
                         for match in INCLUDE.finditer(text)]


def resolve(root, file, target):
    """The project's file that an include means, or None."""
    # Benchmarks start the servers that the tests start.
    shared = [root / "tests"] if file.area == "bench" and target.startswith("support/") else []
    # The command notes compiles where the drop-in libraries do.
    shared += [root] if file.area == "tools" and target == "proxy/run_log.hpp" else []
    for base in (root / "include", root / "src", file.path.parent, root / file.area, *shared):
        candidate = base / target
        if candidate.is_file():
            return candidate.resolve()
    return None


def judge(root, file, quoted, target):
    """Why this include is wrong, or None."""
    if ".." in target.split("/"):
        return "goes up through .., which hides where it leads: write it from the include root"
    if target.startswith("hearth/") and (root / "include" / target).is_file():
        if not quoted:
            return f'is ours: write it as "{target}"'
        if target in TOP_HEADERS and file.place not in MAY_USE_TOP and file.area != "include":
            return f"knows the whole cache, and {file.place} stands below it"
        return None
    if file.area == "include":
        if quoted or target not in STANDARD:
            return "is neither a standard header nor one of include/hearth, and public headers need nothing else"
        return None

    layer = layer_of(target)
    if layer is None or not (root / "src" / target).is_file():
        if quoted and resolve(root, file, target) is None:
            return "is not a file of this project: write other people's headers with < >"
        if quoted and file.area == "src":
            return f"is written from its own folder: write it from src/, as {file.home}/{target}"
        return None
    if file.area == "src":
        if target.startswith(file.home + "/") or layer in LAYERS[file.place]:
            return None
        return f"belongs to {layer.replace('*', target.split('/')[1])}, which {file.home} may not use"
    if layer in OUTSIDE[file.area]:
        return None
    return f"is inside the library, and {file.area}/ may use only include/hearth"


def find_cycles(root, files):
    graph = {}
    for file in files:
        targets = (resolve(root, file, target) for quoted, target, _ in file.includes if quoted)
        graph[file.path.resolve()] = [target for target in targets if target]
    done, trail, cycles = set(), [], []

    def walk(path):
        if path in trail:
            loop = trail[trail.index(path):] + [path]
            cycles.append(" -> ".join(step.relative_to(root).as_posix() for step in loop))
            return
        if path in done:
            return
        done.add(path)
        trail.append(path)
        for target in graph.get(path, []):
            walk(target)
        trail.pop()

    for path in sorted(graph):
        walk(path)
    return cycles


def check(root):
    """Everything that is wrong below root, as sentences; and how many files were looked at."""
    root = pathlib.Path(root).resolve()
    files, problems = [], []
    for area in ["src", *OUTSIDE]:
        for path in sorted((root / area).rglob("*")):
            if path.suffix in (".hpp", ".cpp", ".h", ".cu") and path.is_file():
                files.append(File(root, path))
    for file in files:
        if file.place is None:
            problems.append(f"{file.name}: lies in no layer. The layers are: {', '.join(LAYERS)}")
            continue
        for quoted, target, line in file.includes:
            wrong = judge(root, file, quoted, target)
            if wrong:
                problems.append(f"{file.name}:{line}: {target} {wrong}")
    problems += [f"cycle of includes: {cycle}" for cycle in find_cycles(root, files)]
    return problems, len(files)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
    problems, count = check(root)
    for problem in problems:
        print(problem)
    if count == 0:
        print(f"there is nothing to check below {root}: is it the repository?")
        return 1
    if not problems:
        print(f"{count} files, every include in its direction")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
