#!/usr/bin/env python3
"""Shows Doxygen a header whose comments are plain: what stands before a declaration, or behind it, documents it.

  doxygen_filter.py HEADER      prints the header with its comments as Doxygen knows them, line by line
"""

import re
import sys

COMMENT = re.compile(r"^(?P<code>(?:[^\"/]|\"(?:[^\"\\]|\\.)*\"|/(?!/))*)//(?P<text>.*)$")
IN_ONE_LINE = re.compile(r"^(?P<code>.*\S)(?P<space>\s+)/\*(?P<text>.*)\*/$")


def plain(text):
    """Without what Doxygen would take for commands, tags or links; what stands in `quotes` is left to it."""
    parts = text.split("`")
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"([\\@<>#&\"%])", r"\\\1", parts[i]) if len(parts) % 2 else parts[i]
    return "`".join(parts)


def main(path):
    is_trailing = False  # whether the last line had a comment behind code, which a comment below it may continue
    column = 0
    for line in open(path, encoding="utf-8").read().split("\n"):
        found = COMMENT.match(line)
        if not found:
            one = IN_ONE_LINE.match(line)
            # In C: /* ... */ behind a declaration, or before one. Lines of dashes only part the header.
            before = re.sub(r"^(\s*)/\* (?!----)", r"\1/** ", line)
            print(f"{one['code']}{one['space']}/**<{one['text']}*/" if one else before)
            is_trailing = False
            continue
        code, text = found["code"], plain(found["text"])
        if code.strip().startswith(("}", "#")):  # of a namespace that ends, or of a macro
            print(line)
            is_trailing = False
        elif code.strip():
            is_trailing, column = True, len(code)
            print(f"{code}///<{text}")
        elif is_trailing and len(code) == column:
            print(f"{code}///<{text}")
        else:
            is_trailing = False
            print(f"{code}///{text}")


if __name__ == "__main__":
    main(sys.argv[1])
