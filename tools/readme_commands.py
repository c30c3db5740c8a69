#!/usr/bin/env python3
"""Prints the commands that a page tells its reader to type, so that CI runs the text and not a copy of it.

Usage: readme_commands.py PAGE.md MARKER      the commands of all blocks with <!-- ci: MARKER -->, in their order
       readme_commands.py --packages PAGE.md  the packages of its `apt-get install` lines, without those of files
       readme_commands.py --list PAGE.md…     `PAGE MARKER` for each marker; fails on a marker that marks nothing

A marker is a line before a block of `sh` or `console`; other comments may stand between:
  <!-- ci: source -->
  ```sh
  cmake --preset release
  ```
Of `console` blocks, the lines after `$ ` are commands. A marker without such a block, and a block without a command, fail.
"""
import re
import shlex
import sys

MARKER = re.compile(r"<!-- ci: ([\w-]+) -->$")
COMMENT = re.compile(r"<!-- .* -->$")


def fail(path, number, what):
    sys.exit(f"{path}:{number}: {what}")


def commands_of(path, number, language, lines):
    """A list of commands; lines that a backslash continues belong to one."""
    if language == "console":
        text = "\n".join(lines)
        found = re.findall(r"^\$ ((?:.*\\\n)*.*)$", text, re.MULTILINE)
    else:
        text = "\n".join(line for line in lines if line.strip() and not line.lstrip().startswith("#"))
        found = re.findall(r"^((?:.*\\\n)*.+)$", text, re.MULTILINE)
    if not found:
        fail(path, number, "the block has no command")
    return found


def blocks(path):
    """(marker, commands) of each marked block."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    at = 0
    while at < len(lines):
        marker = MARKER.match(lines[at])
        if not marker:
            if "<!-- ci:" in lines[at]:
                fail(path, at + 1, "a marker is a line `<!-- ci: NAME -->`")
            at += 1
            continue
        begin = at + 1
        while begin < len(lines) and COMMENT.match(lines[begin]) and not MARKER.match(lines[begin]):
            begin += 1
        fence = re.match(r"```(sh|console)$", lines[begin]) if begin < len(lines) else None
        if not fence:
            fail(path, at + 1, "no block of sh or console follows the marker")
        end = next((n for n in range(begin + 1, len(lines)) if lines[n] == "```"), None)
        if end is None:
            fail(path, begin + 1, "the block does not end")
        yield marker[1], commands_of(path, begin + 1, fence[1], lines[begin + 1:end])
        at = end + 1


def packages(path):
    names = []
    for _, commands in blocks(path):
        for command in commands:
            words = shlex.split(command.replace("\\\n", " "))
            if words[:2] in (["apt-get", "install"], ["apt", "install"]):
                names += [word for word in words[2:] if not word.startswith("-") and "/" not in word and word not in names]
    if not names:
        sys.exit(f"{path}: no marked block installs packages")
    return names


def main():
    arguments = sys.argv[1:]
    if len(arguments) == 2 and arguments[0] == "--packages":
        print("\n".join(packages(arguments[1])))
    elif len(arguments) > 1 and arguments[0] == "--list":
        for path in arguments[1:]:
            for marker in dict.fromkeys(marker for marker, _ in blocks(path)):
                print(path, marker)
    elif len(arguments) == 2 and not arguments[0].startswith("-"):
        found = [command for marker, commands in blocks(arguments[0]) if marker == arguments[1] for command in commands]
        if not found:
            sys.exit(f"{arguments[0]}: no block is marked <!-- ci: {arguments[1]} -->")
        print("\n".join(found))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
