#!/usr/bin/env python3
"""Checks the repository's Markdown: every relative link leads to a file and, with an anchor, to a heading of it, and lines
are at most 120 columns wide. Tables, fenced code and lines of one link may be wider; comments don't count. Files and folders
that CONTRIBUTING.md and pages of docs/ name in code must exist, and each row of CONTRIBUTING's first table must name one.

Usage: check_markdown.py [--fix | --no-width] [FILE.md…]      (default: all that git tracks)

--fix wraps the paragraphs and list items that are too wide.
"""
import os
import re
import subprocess
import sys
import textwrap
import unicodedata

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WIDTH = 120
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)(?: \"[^\"]*\")?\)")
FENCE = re.compile(r"\s*(```+|~~~+)")
CODE = re.compile(r"(?<!`)(`+)(?!`)[^\n]*?(?<!`)\1(?!`)")
NAMED = re.compile(r"`((?:src|tests|tools|sdk|data|calibration|problems|platforms|prompts|examples)/[\w./-]+)`")
PLACEHOLDER = re.compile(r"NAME|CLASS|NN")
COMMENT = re.compile(r"<!--.*?-->")
# Texts for models (prompts and statements, which are part of a problem's hash), recorded answers and generated pages.
UNWRAPPED = ("prompts/", "problems/", "src/judge/catalog/skeleton/", "tests/unit/", "tests/e2e/campaign/",
             "tests/e2e/candidates/prose.md", "docs/evidence/api.md", "docs/evidence/coverage.md")


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


def missing_paths(path):
    """Files and folders of the repository that a page names and that are not there."""
    if os.path.relpath(path, ROOT).split(os.sep)[0] not in {"CONTRIBUTING.md", "docs"}:
        return
    for number, line, is_code in lines_of(path):
        for name in [] if is_code else NAMED.findall(line):
            if not PLACEHOLDER.search(name) and not os.path.exists(os.path.join(ROOT, name)):
                yield number, f"{name} does not exist"


def rows_without_a_place(path):
    """Rows of CONTRIBUTING's first table, of where the code for something is, that name no file and no folder."""
    if os.path.relpath(path, ROOT) != "CONTRIBUTING.md":
        return
    rows = False
    for number, line, is_code in lines_of(path):
        if is_code or not line.startswith("|"):
            if rows:
                return
        elif rows and not NAMED.search(line):
            yield number, "names no file and no folder"
        rows = rows or (not is_code and line.startswith("|--"))


def is_too_wide(line):
    line = COMMENT.sub("", line)
    if len(line) <= WIDTH or line.lstrip().startswith(("|", "<", "#")):
        return False
    return len(LINK.sub("", line).strip(" -*.")) > WIDTH or not LINK.search(line)


def broken_links(path):
    # Links may go on over a line end; code is blanked out.
    text = "\n".join("" if is_code else line for _, line, is_code in lines_of(path))
    text = CODE.sub(lambda match: "`" * len(match[0]), text)
    for match in LINK.finditer(text):
        wrong = broken_link(path, match[1])
        if wrong:
            yield text.count("\n", 0, match.start()) + 1, wrong


def wide_lines(path):
    if os.path.relpath(path, ROOT).startswith(UNWRAPPED):
        return
    for number, line, is_code in lines_of(path):
        if not is_code and is_too_wide(line):
            yield number, f"{len(line)} columns, more than {WIDTH}"


def wrapped(lines):
    """The lines of a paragraph or list item, wrapped anew. Code stays on one line, and no line begins like a block."""
    start = re.match(r"\s*(?:[-*+] +|\d+[.)] +|> ?)?", lines[0])[0]
    words = " ".join([lines[0][len(start):], *(line.strip().removeprefix("> ") for line in lines[1:])])
    for whole in (CODE, COMMENT):
        words = whole.sub(lambda match: match[0].replace(" ", "\0"), words)
    words = re.sub(r" (?=(?:[-*+>#]|\d+[.)])(?: |$))", "\0", words)
    rest = start if start.lstrip().startswith(">") else " " * len(start)
    return [line.replace("\0", " ") for line in textwrap.wrap(words, WIDTH, initial_indent=start, subsequent_indent=rest,
                                                              break_long_words=False, break_on_hyphens=False)]


def fix(path):
    out, block = [], []

    def flush():
        out.extend(wrapped(block) if any(is_too_wide(line) for line in block) else block)
        block.clear()

    for _, line, is_code in lines_of(path):
        starts = re.match(r"\s*([-*+] |\d+[.)] )", line)
        if is_code or not line.strip() or line.lstrip().startswith(("|", "<", "#")):
            flush()
            out.append(line)
            continue
        if starts:
            flush()
        block.append(line)
    flush()
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")


def check(path, with_width):
    errors = [*broken_links(path), *missing_paths(path), *rows_without_a_place(path)] + (list(wide_lines(path)) if with_width else [])
    return [f"{os.path.relpath(path, ROOT)}:{number}: {error}" for number, error in sorted(errors)]


def main():
    options = [argument for argument in sys.argv[1:] if argument.startswith("--")]
    files = [argument for argument in sys.argv[1:] if argument not in options] or [os.path.join(ROOT, path) for path in tracked()]
    files = [os.path.abspath(path) for path in files]
    if "--fix" in options:
        for path in files:
            if list(wide_lines(path)):
                fix(path)
    errors = [error for path in files for error in check(path, "--no-width" not in options)]
    print("\n".join(errors + [f"markdown: {len(files)} files, {len(errors)} errors"]))
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
