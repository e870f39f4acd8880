#!/usr/bin/env python3
"""Compares the environment variables that the code reads with those that a document lists.

  check_variables.py ROOT FILE.md      exit 0: the same; else what differs

Read is what stands in quotes as "HEARTH_NAME" in src, proxy, tools and python, and what scripts expand. Listed is what
stands in the first column or the second of a table, or first in a line of a list.
"""

import pathlib
import re
import sys

QUOTED = re.compile(r"""["'](HEARTH_[A-Z0-9_]+)["']""")
EXPANDED = re.compile(r"\$\{?(HEARTH_[A-Z0-9_]+)")
LISTED = re.compile(r"^(?:\| |\| `[a-z_]+` \| |\|  \| |- )`(HEARTH_[A-Z0-9_]+)`", re.MULTILINE)
OLDER = re.compile(r"^- `[a-z_]+` and `(HEARTH_[A-Z0-9_]+)`", re.MULTILINE)


def read_by_code(root):
    names = {}
    for folder in ("src", "proxy", "tools", "python"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".cpp", ".hpp", ".c", ".h", ".py"):
                for name in QUOTED.findall(path.read_text()):
                    names.setdefault(name, path.relative_to(root))
    for path in [root / "Makefile", *sorted((root / "scripts").iterdir())]:
        for name in EXPANDED.findall(path.read_text()):
            names.setdefault(name, path.relative_to(root))
    return names


def main(root, document):
    read = read_by_code(pathlib.Path(root))
    text = pathlib.Path(document).read_text()
    listed = set(LISTED.findall(text)) | set(OLDER.findall(text))
    for name in sorted(read.keys() - listed):
        print(f"{document} does not list {name}, which {read[name]} reads.")
    for name in sorted(listed - read.keys()):
        print(f"{document} lists {name}, which nothing reads.")
    if len(read) < 40:
        print(f"Only {len(read)} variables were found in {root}: this check does not see what it should.")
    return int(read.keys() != listed or len(read) < 40)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
