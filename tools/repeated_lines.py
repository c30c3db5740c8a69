#!/usr/bin/env python3
"""How much of the problems' sources is text that other problems have, too.

usage: repeated_lines.py [--at-most PERCENT]

A line counts as repeated if it stands in a run of four or more equal lines that occurs in five or more problems. Lines are
compared without blanks at their ends and between words; blank lines and comments are left out. Preambles of references and
the first lines of a class are repeated by nature: the second figure leaves out includes and lines of brackets alone."""

import argparse
import collections
import pathlib
import re
import sys

PROBLEMS = pathlib.Path(__file__).resolve().parent.parent / "problems"


def problem_of(path):
    """The folder <track>/<category>/<problem> of a source; its variants belong to it."""
    parts = pathlib.PurePath(path).parts
    at = len(parts) - 1 - parts[::-1].index("problems")
    return parts[at + 1:at + 4]


def lines_of(text, left_out=None):
    squeezed = (" ".join(line.split()) for line in text.splitlines())
    return [line for line in squeezed if line and not line.startswith("//") and not (left_out and left_out.match(line))]


def repeated_lines(paths, run=4, copies=5, left_out=None):
    """The share, 0 to 1, of the lines of these files that stand in `run` equal ones in `copies` problems or more."""
    texts = [(problem_of(path), lines_of(pathlib.Path(path).read_text(encoding="utf-8"), left_out)) for path in paths]
    where = collections.defaultdict(set)
    for problem, lines in texts:
        for k in range(len(lines) - run + 1):
            where[tuple(lines[k:k + run])].add(problem)
    repeated = total = 0
    for _, lines in texts:
        marked = set()
        for k in range(len(lines) - run + 1):
            if len(where[tuple(lines[k:k + run])]) >= copies:
                marked.update(range(k, k + run))
        repeated += len(marked)
        total += len(lines)
    return repeated / total if total else 0.0


def sources():
    return sorted(path for suffix in ("cu", "cpp") for path in PROBLEMS.rglob(f"*.{suffix}"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--at-most", type=float, metavar="PERCENT", help="fail if more lines are repeated")
    limit = parser.parse_args().at_most
    share = 100 * repeated_lines(sources())
    code = 100 * repeated_lines(sources(), left_out=re.compile(r"#include|\W+$"))
    print(f"repeated lines: {share:.1f} % in five problems or more; without includes and brackets {code:.1f} %")
    if limit is not None and share > limit:
        sys.exit(f"more than {limit:g} %: what problems share belongs into a header of the SDK")


if __name__ == "__main__":
    main()
