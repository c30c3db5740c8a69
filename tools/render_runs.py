#!/usr/bin/env python3
"""Fills a document's code, outputs and counts from the sources and from real runs, so that they can't go stale.

Usage: render_runs.py FABRICBENCH DOCUMENT.md [--check]

A comment before a fenced block says what the block holds:
  <!-- code: FILE NAME -->                 the lines between // [NAME] and // [/NAME] of FILE
  <!-- change: FILE NAME MACRO=NUMBER -->  what MACRO changes in these lines
  <!-- rows: FILE.def MACRO -->            MACRO(name, "label", "meaning") of FILE.def, a line for each row
  <!-- run: ARGUMENTS OF fabricbench -->   the command, and what it prints; without what ranks print after the machine
                                           has ended, which comes in any order
  <!-- run 9: ARGUMENTS OF fabricbench --> the command and the first 9 lines of its output
A count is written between two comments: <!-- count: examples -->20<!-- /count -->. COUNTS has their names.
<!-- faster -->2.4<!-- /faster --> is the ratio of the longest launches in the two profiles above it.
Lines under `#if MACRO == NUMBER` (or !=, #elif, #else) are taken or left out, as if the macro were 0 where it is not named.
Without --check the document is written anew; with --check it is compared, and a difference is an error.
"""
import difflib
import glob
import os
import re
import shlex
import subprocess
import sys
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BLOCK = re.compile(r"(<!-- (code|change|rows|run)(?: (\d+))?: (.*?) -->\n```(?:\w+)\n).*?(^```$)", re.DOTALL | re.MULTILINE)
COUNT = re.compile(r"(<!-- count: (\w+) -->).*?(<!-- /count -->)")
FASTER = re.compile(r"(<!-- faster -->).*?(<!-- /faster -->)")
LONGEST = re.compile(r": \d+ launch(?:es)?, the longest ([\d.]+) (ns|us|ms)$", re.MULTILINE)
SECONDS = 120  # until a run is given up
LAST_WORDS = re.compile(r"(\[rank \d+\] )?(FAILED .*cudaErrorUnknown|FAILED .*a rank has left|fabricbench: the machine has ended)")


def without_conditions(lines, macros):
    kept, taken, chosen = [], True, True  # chosen: a branch of the condition has been taken
    for line in lines:
        condition = re.match(r"#(?:if|elif) (\w+) (==|!=) (\d+)$", line)
        if line.startswith("#if") or line.startswith("#elif"):
            if not condition:
                sys.exit(f"this condition is not understood: {line}")
            holds = (macros.get(condition[1], 0) == int(condition[3])) == (condition[2] == "==")
            taken = holds and (line.startswith("#if") or not chosen)
            chosen = taken or (chosen and line.startswith("#elif"))
        elif line == "#else":
            taken = not chosen
        elif line == "#endif":
            taken = True
        elif taken:
            kept.append(line)
    return kept


def code(path, name, *definitions):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        match = re.search(rf"^ *// \[{name}\]\n(.*?)^ *// \[/{name}\]$", file.read(), re.DOTALL | re.MULTILINE)
    if not match:
        sys.exit(f"{path} has no lines [{name}]")
    macros = {macro: int(value) for macro, value in (definition.split("=") for definition in definitions)}
    return without_conditions(textwrap.dedent(match[1]).splitlines(), macros)


def change(path, name, definition):
    lines = difflib.unified_diff(code(path, name), code(path, name, definition), n=1, lineterm="")
    return [line for line in list(lines)[2:] if not line.startswith("@@")]


def rows(path, macro):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        found = re.findall(rf'^{macro}\(\w+, "([^"]*)", "([^"]*)"\)$', file.read(), re.MULTILINE)
    if not found:
        sys.exit(f"{path} has no rows {macro}(name, \"label\", \"meaning\")")
    width = max(len(label) for label, _ in found)
    return [f"{label:{width}}  {meaning}" for label, meaning in found]


def files(pattern):
    return len(glob.glob(os.path.join(ROOT, pattern)))


def providers():
    with open(os.path.join(ROOT, "data/providers.toml"), encoding="utf-8") as file:
        return file.read().count("\n[[provider]]")


COUNTS = {"examples": lambda: files("examples/*.cu"),
          "platforms": lambda: files("platforms/*.toml"), "bugs": lambda: files("tests/e2e/bugs/*.cu"),
          "hangs": lambda: files("tests/e2e/hangs/*.cu"), "providers": providers}


def output(tool, words, limit):
    run = subprocess.run([tool, *words], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         timeout=SECONDS)
    lines = [line for line in run.stdout.rstrip().splitlines() if not LAST_WORDS.match(line)]
    if limit and len(lines) > limit:
        lines = [*lines[:limit], "…"]
    return [f"$ fabricbench {shlex.join(words)}", *lines]


def faster(text, match):
    times = [float(value) * {"ns": 1, "us": 1e3, "ms": 1e6}[unit] for value, unit in LONGEST.findall(text, 0, match.start())]
    if len(times) < 2:
        sys.exit("no two profiles above <!-- faster -->")
    return f"{match[1]}{times[-2] / times[-1]:.1f}{match[2]}"


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    tool, path = os.path.abspath(sys.argv[1]), sys.argv[2]
    with open(path, encoding="utf-8") as file:
        before = file.read()

    def fill(match):
        words = shlex.split(match[4])
        lines = output(tool, words, int(match[3] or 0)) if match[2] == "run" else {"code": code, "change": change, "rows": rows}[match[2]](*words)
        return match[1] + "".join(line.rstrip() + "\n" for line in lines) + match[5]

    filled = COUNT.sub(lambda match: match[1] + str(COUNTS[match[2]]()) + match[3], BLOCK.sub(fill, before))
    after = FASTER.sub(lambda match: faster(filled, match), filled)
    if "--check" not in sys.argv:
        with open(path, "w", encoding="utf-8") as file:
            file.write(after)
    elif after != before:
        sys.stdout.writelines(difflib.unified_diff(before.splitlines(True), after.splitlines(True), path, "as it is now"))
        sys.exit(f"{path} is stale: tools/render_runs.py FABRICBENCH {path}")


if __name__ == "__main__":
    main()
