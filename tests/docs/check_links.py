#!/usr/bin/env python3
"""Follows the links of documents, and looks for pages that no index names.

  check_links.py ROOT      exit 0: every link leads somewhere, and docs/README.md has every page; else what does not

Checked are relative links with their #headings, and pages that are named without a link, such as docs/remote.md, in
documents, headers, sources and help texts.
"""

import pathlib
import re
import sys

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
NAMED = re.compile(r"\bdocs/[a-z][a-z-]*\.md\b")
NOT_SHOWN = re.compile(r"^```.*?^```$|<!--.*?-->", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def prose(path):
    return NOT_SHOWN.sub("", path.read_text())


def anchors(path):
    """The names by which headings are linked to: in small letters, blanks as '-', without other signs."""
    headings = HEADING.findall(prose(path))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def dead_links(path):
    for target in LINK.findall(prose(path)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, heading = target.partition("#")
        aim = path.parent / name if name else path
        if not aim.exists():
            yield f"{path}: {target} leads nowhere."
        elif heading and heading not in anchors(aim):
            yield f"{path}: {target} names a heading that {aim.name} does not have."


def dead_names(root):
    for folder in ("include", "src", "tools", "python", "proxy", "bench", "examples", "scripts", "docs"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".hpp", ".h", ".cpp", ".c", ".py", ".md", "") and path.is_file():
                for name in NAMED.findall(path.read_text(errors="replace")):
                    if not (root / name).exists():
                        yield f"{path}: there is no {name}."


def main(root):
    root = pathlib.Path(root)
    pages = sorted((root / "docs").glob("*.md"))
    problems = [problem for path in [*sorted(root.glob("*.md")), *pages] for problem in dead_links(path)]
    problems += dead_names(root)
    index = root / "docs" / "README.md"
    indexed = set(LINK.findall(prose(index)))
    problems += [f"{index} does not name {page.name}." for page in pages if page != index and page.name not in indexed]
    print("\n".join(problems))
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
