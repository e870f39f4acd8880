#!/usr/bin/env python3
"""Checks that everything a file reaches by includes, and what a layer calls, lies in an allowed direction.

  check_layers.py [ROOT [BUILD]]     exit 0: all is well; 1: what is wrong stands on stdout, a line each

The build already refuses an include of a layer that was not linked (cmake/HearthLayers.cmake). This looks at the whole
tree without a compiler, so it also sees a layer that links what it should not, headers nobody compiles, and cycles. With
a build folder it looks at the compiled layers too: a function that is declared in a public header may be defined in a
layer that its caller must not need, and a static of a function is no good in a process that forks.
"""

import collections
import pathlib
import re
import subprocess
import sys

# A place is a layer of src/ or a folder beside it. What a file of a place reaches, however far, is in the same place, in
# one of those named here, or a public header. "tiers/*" is one place a folder: tiers/disk may not use tiers/memory.
BELOW = {"base", "format", "policy", "gpu", "resident"}
LAYERS = {
    "base": set(),
    "json": set(),
    "format": {"base"},
    "policy": {"base"},
    "resident": {"base", "format", "policy"},
    "ledger": {"base", "format", "policy", "resident"},
    "gpu": {"base"},
    "watch": {"base", "format"},
    "remote": {"base", "format", "policy"},
    "run_log": {"base", "json"},
    "recipes": {"base", "format"},
    "modules": {"base", "gpu", "json"},
    "engine": BELOW,
    "tiers/*": BELOW | {"remote"},
    "compilers/common": {"base", "format", "gpu", "watch"},
    "compilers/*": BELOW | {"compilers/common", "recipes", "watch"},
    "building": BELOW | {"compilers/common", "compilers/*", "recipes", "watch"},
    "config": BELOW | {"json", "engine", "remote", "tiers/*", "compilers/common", "compilers/*", "modules", "recipes",
               "watch"},
}
LAYERS["c"] = LAYERS["config"] | {"config", "recipes", "run_log"}
OUTSIDE = {
    "include": set(),
    "tools": {"base", "json", "run_log"},
    "examples": set(),
    "proxy": set(LAYERS),
    "bindings": set(LAYERS),
    "tests/support": set(LAYERS),
    "bench": set(LAYERS) | {"tests/support"},
}
# Where includes that are no public header's and no layer's are written from, besides the file's own folder.
ROOTS = {"tools": ["tools/hearth"], "examples": ["examples"], "bench": ["bench", "tests"], "tests/support": ["tests"]}

# The Cache and its options name everything below them, so what is below must not know them. Compilers are users of the
# Cache, and so is what they stand on (compilers/common): they meet it at its public interface.
TOP_HEADERS = {"hearth/admin.hpp", "hearth/cache.hpp", "hearth/hearth.hpp", "hearth/options.hpp"}
MAY_USE_TOP = {"engine", "compilers/common", "compilers/*", "modules", "recipes", "building", "config", "run_log",
               "c"} | set(OUTSIDE)

STANDARD = set(
    """stddef.h stdint.h
    algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes climits
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
    member = "/".join(parts[:2])
    if member in LAYERS and len(parts) > 2:
        return member
    family = parts[0] + "/*"
    return family if family in LAYERS and len(parts) > 2 else None


class File:
    def __init__(self, root, path):
        self.path = path
        self.name = path.relative_to(root).as_posix()
        self.area, _, rest = self.name.partition("/")
        if self.area == "src":
            self.place = layer_of(rest)
        else:
            self.place = next(place for place in OUTSIDE if self.name.startswith(place + "/"))
        # The folder whose files may include each other freely: tiers/disk, not all of tiers.
        depth = self.place.count("/") + 1 if self.place else 1
        self.home = "/".join(rest.split("/")[:depth]) if self.area == "src" else self.place
        text = COMMENT.sub(lambda match: "\n" * match.group().count("\n"), path.read_text(errors="replace"))
        self.includes = [(match.group(1) == '"', match.group(2), text.count("\n", 0, match.start()) + 1)
                         for match in INCLUDE.finditer(text)]
        self.reached = {}  # files, and the first step of a way there


def resolve(root, file, target):
    """The project's file that an include means, or None."""
    outside = [root / base for base in ROOTS.get(file.place, [file.place or "src"])]
    for base in (root / "include", root / "src", file.path.parent, *outside):
        candidate = base / target
        if candidate.is_file():
            return candidate.resolve()
    return None


def misspelt(root, file, quoted, target):
    """What is wrong with how an include is written, or None."""
    if ".." in target.split("/"):
        return "goes up through .., which hides where it leads: write it from the include root"
    if target.startswith("hearth/") and (root / "include" / target).is_file():
        return None if quoted else f'is ours: write it as "{target}"'
    if file.area == "include" and (quoted or target not in STANDARD):
        return "is neither a standard header nor one of include/hearth, and public headers need nothing else"
    if quoted and resolve(root, file, target) is None:
        return "is not a file of this project: write other people's headers with < >"
    if quoted and file.area == "src" and not (root / "src" / target).is_file():
        return f"is written from its own folder: write it from src/, as {file.home}/{target}"
    return None


def refusal(file, target):
    """Why a file may not use another one of the project, or None."""
    if file.place is None or target.place is None:
        return None  # said of the file that lies in no layer
    if target.area == "include":
        if target.name.removeprefix("include/") in TOP_HEADERS and file.place not in MAY_USE_TOP:
            return f"knows the whole cache, and {file.home} stands below it"
        return None
    if target.home == file.home or target.place in {**LAYERS, **OUTSIDE}[file.place]:
        return None
    if file.area == "src":
        return f"belongs to {target.home}, which {file.home} may not use"
    allowed = ", ".join(["include/hearth", *sorted(OUTSIDE[file.place])])
    return f"belongs to {target.home}, and {file.place}/ may use only {allowed}"


def find_reached(root, files):
    """Fills in what each file reaches, nearest first."""
    by_path = {file.path.resolve(): file for file in files}
    # An include without quotes reaches a file of ours as well.
    steps = {file: [by_path[path] for _, target, _ in file.includes if (path := resolve(root, file, target)) in by_path]
             for file in files}
    for file in files:
        waiting = collections.deque((step, step) for step in steps[file])
        while waiting:
            reached, first = waiting.popleft()
            if reached is not file and reached not in file.reached:
                file.reached[reached] = first
                waiting.extend((step, first) for step in steps[reached])


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


def direction(file, path):
    """Why a file may not include another, or None."""
    for target, first in file.reached.items():
        if first.path.resolve() != path:
            continue
        wrong = refusal(file, target)
        if wrong and target is first:
            return wrong
        # What the file in between may not use either is its fault.
        if wrong and not refusal(first, target):
            return f"leads to {target.name}, which {wrong}"
    return None


def check(root):
    """Everything that is wrong below root, as sentences; and how many files were looked at."""
    root = pathlib.Path(root).resolve()
    files, problems = [], []
    for area in ["src", *OUTSIDE]:
        for path in sorted((root / area).rglob("*")):
            if path.suffix in (".hpp", ".cpp", ".h", ".cu") and path.is_file():
                files.append(File(root, path))
    find_reached(root, files)
    for file in files:
        if file.place is None:
            problems.append(f"{file.name}: lies in no layer. The layers are: {', '.join(LAYERS)}")
            continue
        for quoted, target, line in file.includes:
            wrong = misspelt(root, file, quoted, target) or direction(file, resolve(root, file, target))
            if wrong:
                problems.append(f"{file.name}:{line}: {target} {wrong}")
    problems += [f"cycle of includes: {cycle}" for cycle in find_cycles(root, files)]
    return problems, len(files)


def check_calls(build):
    """What layers below the Cache call that is defined where they must not reach, as sentences."""
    defined, called = {}, collections.defaultdict(dict)
    for folder in sorted(pathlib.Path(build, "src/CMakeFiles").glob("hearth_*.dir")):
        layer = folder.name.removeprefix("hearth_").removesuffix(".dir").replace("_", "/", 1)
        layer = layer if layer_of(layer + "/x") else layer.replace("/", "_")
        if layer_of(layer + "/x") is None:
            continue
        objects = [str(path) for path in folder.rglob("*.o")]
        listing = subprocess.run(["nm", "-C", "-A", *objects], capture_output=True, text=True).stdout if objects else ""
        for path, kind, name in re.findall(r"^(.*?):[0-9a-f ]* (\w) (.*)$", listing, re.MULTILINE):
            if kind in "TDBR":
                defined[name] = layer
            elif kind == "U":
                called[layer][name] = pathlib.Path(path).name.removesuffix(".o")
    if not defined:
        return [f"there are no compiled layers in {build}: build hearth_internal first"]
    problems = []
    for layer, names in called.items():
        place = layer_of(layer + "/x")
        if place in MAY_USE_TOP - {"engine"}:
            continue  # users of the Cache
        for name, source in sorted(names.items()):
            there = defined.get(name, layer)
            if there != layer and layer_of(there + "/x") not in LAYERS[place]:
                problems.append(f"{layer}: {source} calls {name}, which is defined in {there}: define it where both may "
                                "reach it, or inline in its header")
    return problems


def check_statics(build):
    """Statics of functions of the library that a first caller makes under a lock of the language's, as sentences."""
    objects = [str(path) for part in ("src", "proxy") for path in pathlib.Path(build, part).rglob("*.o")]
    listing = subprocess.run(["readelf", "-sW", *objects], capture_output=True, text=True).stdout if objects else ""
    # A guard of a function's (_ZGVZ); one of a thread's own variable has the type TLS.
    guards = sorted(set(re.findall(r" OBJECT .* _ZGVZ(\S+)$", listing, re.MULTILINE)))
    names = subprocess.run(["c++filt"], input="\n".join("_ZZ" + name for name in guards), capture_output=True,
                           text=True).stdout.split("\n")
    return [f"{name} is made by its first caller, and a child that is forked meanwhile waits for ever: use "
            "base/of_process.hpp" for name in sorted(names) if name]


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
    problems, count = check(root)
    if len(sys.argv) > 2:
        problems += check_calls(sys.argv[2]) + check_statics(sys.argv[2])
    for problem in problems:
        print(problem)
    if count == 0:
        print(f"there is nothing to check below {root}: is it the repository?")
        return 1
    if not problems:
        print(f"{count} files, everything in its direction")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
