#!/usr/bin/env python3
"""A second solution, written from the prompt alone, passes; the mistakes beside it are refused with their class.

usage: run.py FABRICBENCH [--schedules N] [PROBLEM…]        without problems: all folders beside this file

A mistake is an edit of the solution (mistakes.toml; README.md says what its keys mean)."""

import argparse
import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "candidates"))
import edits  # noqa: E402
from judged import CLASSES  # noqa: E402

MISTAKEN = CLASSES - {"pass", "cheat"}
KEYS = {"about", "find", "replace", "expect", "explains", "mode", "schedules"}
MISTAKES = 3
SECONDS = 600  # ends a hang


def judged(tool, problem, answer, options):
    command = [tool, "check", problem, str(answer), "--json", "--seed", "1", *options]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS)
    try:
        return json.loads(done.stdout)
    except ValueError:
        sys.exit(f"{problem}: no verdict: {done.stderr.strip()}")


def mistakes_of(folder, solution):
    """Answer and expectation of each mistake; ends the run where the file is not what README.md asks for."""
    listed = tomllib.loads((folder / "mistakes.toml").read_text())["mistake"]
    if len(listed) != MISTAKES:
        sys.exit(f"{folder.name}: {len(listed)} mistakes, not {MISTAKES}")
    for mistake in listed:
        about = mistake.get("about", "")
        if not about or set(mistake) - KEYS or mistake["expect"] not in MISTAKEN or mistake.get("mode", "quick") not in ("quick", "full"):
            sys.exit(f"{folder.name}: {about!r}: a key or a value that README.md does not know")
        try:
            yield mistake, edits.apply(solution, [mistake], f"{folder.name}: {about!r}")
        except edits.EditError as error:
            sys.exit(str(error))


def complaints(verdict, mistake):
    said = " ".join(f"{verdict.get('summary', '')} {verdict.get('explanation', '')}".split())
    if verdict["class"] != mistake["expect"]:
        return [f"class {verdict['class']}, expected {mistake['expect']}: {said[:400]}"]
    return [f"the explanation lacks {words!r}: {said[:400]}" for words in mistake.get("explains", []) if words not in said]


def run(tool, folder, schedules):
    right = True

    def tell(found, verdict, about):
        nonlocal right
        print(f"{'FAIL' if found else 'ok  '} {folder.name:32} {verdict['class']:15} {about}")
        for line in found:
            print(f"     {line}")
        right = right and not found

    solution = (folder / "solution.cu").read_text()
    options = ["--quick"] + (["--schedules", str(schedules)] if schedules else [])
    verdict = judged(tool, folder.name, folder / "solution.cu", options)
    tell([] if verdict["class"] == "pass" else [verdict.get("explanation") or verdict["summary"]], verdict, "the solution")
    with tempfile.TemporaryDirectory(prefix="mistake") as scratch:
        for mistake, text in mistakes_of(folder, solution):
            answer = Path(scratch) / "solution.cu"
            answer.write_text(text)
            options = [f"--{mistake.get('mode', 'quick')}"]
            if "schedules" in mistake:
                options += ["--schedules", str(mistake["schedules"])]
            verdict = judged(tool, folder.name, answer, options)
            tell(complaints(verdict, mistake), verdict, mistake["about"])
    return right


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("problems", nargs="*")
    parser.add_argument("--schedules", type=int)
    arguments = parser.parse_intermixed_args()
    names = arguments.problems or sorted(path.parent.name for path in HERE.glob("*/solution.cu"))
    right = [run(arguments.tool, HERE / name, arguments.schedules) for name in names]
    if not right:
        sys.exit("there are no second solutions")
    sys.exit(0 if all(right) else 1)


main()
