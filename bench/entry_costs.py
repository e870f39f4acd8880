#!/usr/bin/env python3
"""What an entry takes beside its own bytes: of memory, of the disk, of a bundle. And what an open cache takes.

  entry_costs.py HEARTH [SCRATCH]      HEARTH is the command; libhearth.so is beside it, or named by HEARTH_LIBRARY

Entries are of random bytes, which do not compress, and have one output, so that what is over and above is Hearth's.
Memory is what the process has resident (VmRSS), before and after; what the disk takes is counted in its blocks. Prints
one row a size. SCRATCH is a folder on the disk that is meant; the temporary directory otherwise.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SIZES = {100: 5000, 1000: 5000, 4000: 5000, 16000: 2000, 64000: 1000, 1000000: 100}

# Runs in a process of its own, so that no memory of another round is used again.
FILL = """
import hearth, os, sys
size, count, folder, memory = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
block = os.urandom(size + 8 * count)
hearth.key("entry_costs", "warm", 0)
before = resident()
cache = hearth.Cache.open(folder, memory_bytes=memory, max_bytes="none", maintenance="by_hand")
cache.get(hearth.key("entry_costs", "absent", 0))
opened = resident()
for i in range(count):
    cache.put(hearth.key("entry_costs", size, i), block[8 * i : 8 * i + size])
print(opened - before, resident() - opened)
cache.close()
"""


def blocks(path):
    return sum(file.lstat().st_blocks * 512 for file in path.rglob("*") if file.is_file())


def fill(size, count, folder, memory, environment):
    done = subprocess.run([sys.executable, "-c", FILL, str(size), str(count), str(folder), memory],
                          env=environment, capture_output=True, text=True, check=True)
    return [int(word) for word in done.stdout.split()]


def measure(hearth, size, count, scratch, environment):
    folder = scratch / f"of-{size}"
    opened, with_memory = fill(size, count, folder, "8G", environment)
    _, without = fill(size, count, scratch / f"bare-{size}", "0", environment)
    stats = subprocess.run([hearth, "--dir", str(folder), "stats", "--json"],
                           env=environment, capture_output=True, text=True, check=True)
    disk = next(tier for tier in json.loads(stats.stdout)["tiers"] if tier["name"] == "disk")
    assert disk["entries"] == count, f"{disk['entries']} of {count} entries are there"
    bundle = scratch / f"{size}.bundle"
    subprocess.run([hearth, "--dir", str(folder), "bundle", "create", str(bundle)],
                   env=environment, capture_output=True, check=True)
    return {
        "size": size,
        "entries": count,
        "memory": (with_memory - without) / count - size,
        "budget": disk["used_bytes"] / count - size,
        "blocks": blocks(folder / "v1" / "entries") / count,
        "index": (folder / "v1" / "index").stat().st_size / count,
        "bundle": bundle.stat().st_size / count - size,
        "opened": opened,
    }


def main(hearth, scratch=None):
    library = pathlib.Path(hearth).resolve().parent / "libhearth.so"
    with tempfile.TemporaryDirectory(dir=scratch) as place:
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "python"), "HOME": place,
                       "HEARTH_LIBRARY": os.environ.get("HEARTH_LIBRARY", str(library))}
        print("bytes     entries  memory: more than its bytes  budget of the disk: the same  blocks of the disk"
              "  index  bundle: more than its bytes  an open cache, KiB")
        for size, count in SIZES.items():
            row = measure(hearth, size, count, pathlib.Path(place), environment)
            print(f"{size:<8} {count:>8} {row['memory']:>28.0f} {row['budget']:>29.0f} {row['blocks']:>19.0f}"
                  f" {row['index']:>6.0f} {row['bundle']:>28.0f} {row['opened'] / 1024:>19.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
