#!/usr/bin/env python3
"""Checks the repository's Markdown: every relative link leads to a file and, with an anchor, to a heading of it, and lines
are at most 120 columns wide. Tables, fenced code and lines of one link may be wider.

Usage: check_markdown.py [--no-width] [FILE.md…]      (default: all that git tracks)
"""
import os
import re
import subprocess
import sys
import unicodedata

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WIDTH = 120
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)(?: \"[^\"]*\")?\)")
FENCE = re.compile(r"\s*(```+|~~~+)")
CODE = re.compile(r"(`+).*?\1")
# Texts for models (prompts and statements, which are part of a problem's hash) and recorded answers keep their lines.
UNWRAPPED = ("prompts/", "problems/", "src/catalog/skeleton/", "tests/unit/", "tests/e2e/campaign/", "tests/e2e/candidates/prose.md")


def tracked():
    found = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"], cwd=ROOT, check=True,
                           capture_output=True, text=True)
    return sorted(path for path in found.stdout.split("\0") if path and os.path.exists(os.path.join(ROOT, path)))


def lines_of(path):
    """(number, text, is it in a fence) of each line."""
    fence = None
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            mark = FENCE.match(line)
            inside = fence is not None
            if mark and fence is None:
                fence = mark[1]
            elif mark and mark[1].startswith(fence) and not line.strip().strip("`~"):
                fence = None
            yield number, line.rstrip("\n"), inside or mark is not None


def slug(heading):
    """The anchor that GitHub gives a heading."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    kept = [c for c in text if c in " -_" or unicodedata.category(c)[0] in "LN"]
    return "".join(kept).replace(" ", "-")


def anchors_of(path, cache={}):
    if path not in cache:
        counts, anchors = {}, set()
        for _, line, is_code in lines_of(path):
            heading = None if is_code else re.match(r"#{1,6} (.*?)#*$", line)
            if heading:
                name = slug(heading[1])
                anchors.add(name if name not in counts else f"{name}-{counts[name]}")
                counts[name] = counts.get(name, 0) + 1
            anchors.update(re.findall(r'<a (?:id|name)="([^"]+)"', line))
        cache[path] = anchors
    return cache[path]


def broken_link(path, target):
    """What is wrong with a link, or None."""
    if re.match(r"[a-z][a-z0-9+.-]*:", target):
        return None
    name, _, anchor = target.partition("#")
    file = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
    if not os.path.exists(file):
        return f"{target} leads nowhere"
    if anchor and file.endswith(".md") and anchor not in anchors_of(file):
        return f"{target}: the file has no heading for this anchor"
    return None


def is_too_wide(line):
    if len(line) <= WIDTH or line.lstrip().startswith(("|", "<!--")):
        return False
    return len(LINK.sub("", line).strip(" -*.")) > WIDTH or not LINK.search(line)


def check(path):
    errors = []
    wraps = "--no-width" not in sys.argv and not os.path.relpath(path, ROOT).startswith(UNWRAPPED)
    for number, line, is_code in lines_of(path):
        if is_code:
            continue
        for target in LINK.findall(CODE.sub("", line)):
            wrong = broken_link(path, target)
            if wrong:
                errors.append(f"{os.path.relpath(path, ROOT)}:{number}: {wrong}")
        if wraps and is_too_wide(line):
            errors.append(f"{os.path.relpath(path, ROOT)}:{number}: {len(line)} columns, more than {WIDTH}")
    return errors


def main():
    files = [argument for argument in sys.argv[1:] if argument != "--no-width"] or [os.path.join(ROOT, path) for path in tracked()]
    errors = [error for path in files for error in check(os.path.abspath(path))]
    print("\n".join(errors + [f"markdown: {len(files)} files, {len(errors)} errors"]))
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
