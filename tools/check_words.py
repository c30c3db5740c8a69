#!/usr/bin/env python3
"""Fails on comments, messages and pages that speak of warps, writes or processes as of people.

"Whoever reads it", "nobody waits", "who was woken": the reader has to guess the subject. The field has nouns for them (a
warp, an acquire, the last writer). In source files `who` and its forms are refused as well, since comments there are about
code; pages may speak of people who use the program."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PERSONS = r"whoever|whomever|nobody|somebody|everybody|anybody"
IN_SOURCES = re.compile(rf"\b(who|whom|{PERSONS})\b", re.I)
IN_PAGES = re.compile(rf"\b({PERSONS})\b", re.I)
SOURCES = {".cpp", ".h", ".def", ".cu", ".cuh", ".py", ".sh", ".cmake", ".in"}
PAGES = {".md", ".toml"}
# A system call, a shell command or a quotation is not a sentence of ours.
ALLOWED = re.compile(r"PTRACE_WHO|RUSAGE_WHO|whoami|person|people|\buser\b|\bauthor")


def tracked():
    out = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [pathlib.Path(line) for line in out.stdout.splitlines()]


def comment_or_text(path, line):
    """The part of a source line that is written for people: comments and string literals."""
    if path.suffix in PAGES:
        return line
    if path.suffix in {".py", ".sh", ".cmake"}:
        return line
    parts = re.findall(r'//.*|"(?:[^"\\]|\\.)*"', line)
    return " ".join(parts)


def main():
    bad = 0
    for path in tracked():
        if path.suffix not in SOURCES | PAGES or path == pathlib.Path("tools/check_words.py"):
            continue
        pattern = IN_PAGES if path.suffix in PAGES or path.parts[0] == "problems" else IN_SOURCES
        for number, line in enumerate((ROOT / path).read_text(errors="replace").splitlines(), 1):
            text = comment_or_text(path, line)
            if pattern.search(text) and not ALLOWED.search(text):
                print(f"{path}:{number}: {line.strip()}")
                bad += 1
    print(f"words: {bad} sentences with a person as subject")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
