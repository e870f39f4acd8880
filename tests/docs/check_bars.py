#!/usr/bin/env python3
"""Compares the bars that a document shows with those that the benchmarks are held to.

  check_bars.py BARS.hpp FILE.md      exit 0: the same bars in the same order; else what differs
"""

import pathlib
import re
import sys

IN_CODE = re.compile(r'^ +\{"(\S+)",\s+Bar::Is::at_(most|least),\s+([\d.]+),\s+"(\S+)"\},$', re.MULTILINE)
SHOWN = re.compile(r"^\| `(\S+)` \| ([<>]= \S+.*?) \|$", re.MULTILINE)


def main(header, document):
    code = pathlib.Path(header).read_text()
    bars = [
        (rows, f"{'<=' if limit == 'most' else '>='} {number}{unit if unit == 'x' else ' ' + unit}")
        for rows, limit, number, unit in IN_CODE.findall(code)
    ]
    if not bars or len(bars) != code.count("Bar::Is::"):
        print(f"{header} has bars that are not written on one line each, as this check reads them.")
        return 1
    shown = SHOWN.findall(pathlib.Path(document).read_text())
    for bar in [bar for bar in bars if bar not in shown]:
        print(f"{document} does not show: {bar}")
    for bar in [bar for bar in shown if bar not in bars]:
        print(f"{header} does not have: {bar}")
    if bars != shown:
        print("`build/hearth_bench --bars` prints the table as it should be.")
    return int(bars != shown)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
