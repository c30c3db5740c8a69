#!/usr/bin/env python3
"""Runs correct programs under the race detector, in many schedules: nothing may be reported.

Usage: run.py FABRICBENCH example NAME…     rows of tests/e2e/examples/matrix.txt, each with the fewest ranks that it is run with
       run.py FABRICBENCH repaired NAME…    programs of tests/e2e/bugs, repaired
       run.py FABRICBENCH right NAME…       right but unusual candidates of tests/e2e/candidates, by the judge
       Without a name: all of them; with --part K/LAST those with this remainder by LAST + 1, in the order of their names.

$FABRICBENCH_SCHEDULES: schedules of each (default: 3). The promise is 200.
"""
import glob
import json
import os
import re
import shlex
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
SCHEDULES = os.environ.get("FABRICBENCH_SCHEDULES", "3")


def name_of(path):
    return os.path.splitext(os.path.basename(path))[0]


def examples():
    """name → arguments of `fabricbench exec`; platforms where an example skips itself show nothing."""
    found = {}
    with open(os.path.join(ROOT, "tests", "e2e", "examples", "matrix.txt"), encoding="utf-8") as file:
        for line in file:
            words = shlex.split(line, comments=True)
            if not words or "skip" in words:
                continue
            example, platform, counts, *options = words
            ranks = min(map(int, counts.split(",")))
            found.setdefault(example, ["exec", "--check", "--schedules", SCHEDULES, "--platform", platform, "--ranks",
                                       str(ranks), *options, f"examples/{example}.cu"])
    return found


def repaired():
    found = {}
    for path in glob.glob(os.path.join(ROOT, "tests", "e2e", "bugs", "*.cu")):
        with open(path, encoding="utf-8") as file:
            ranks = re.search(r"^// ranks: (\d+)$", file.read(), re.MULTILINE)
        found[name_of(path)] = ["exec", "--check", "--schedules", SCHEDULES, "--ranks", ranks[1] if ranks else "1",
                                "-DREPAIRED", os.path.relpath(path, ROOT)]
    return found


def judged(problem, path):
    return ["check", "--json", "--quick", "--seed", "1", "--schedules", SCHEDULES, "--problems", os.path.join(ROOT, "problems"),
            problem, os.path.relpath(path, ROOT)]


def right():
    found = {}
    for path in glob.glob(os.path.join(ROOT, "tests", "e2e", "candidates", "*.cu")):
        with open(path, encoding="utf-8", errors="replace") as file:
            head = file.read(1000)
        if re.search(r"^// expect: pass$", head, re.MULTILINE):
            found[name_of(path)] = judged(re.search(r"^// problem: (\w+)$", head, re.MULTILINE)[1], path)
    return found


KINDS = {"example": examples, "repaired": repaired, "right": right}


def clean(arguments, run):
    # A program of copies alone: `--check` says that no kernel was there to be checked, and ends with 2.
    expected = 2 if "nothing was checked: no kernel was launched (there were " in run.stdout else 0
    if run.returncode != expected or re.search(r"\brace: ", run.stdout):
        return False
    if arguments[0] == "check":
        return json.loads(run.stdout).get("class") == "pass"
    return re.search(r"^(?:\[[^\]]*\] )?OK ", run.stdout, re.MULTILINE) is not None


def main():
    if len(sys.argv) < 3 or sys.argv[2] not in KINDS:
        sys.exit(__doc__)
    tool, kind = sys.argv[1:3]
    cases = KINDS[kind]()
    names = sys.argv[3:] or sorted(cases)
    if names[0] == "--part":
        part, last = map(int, names[1].split("/"))
        names = sorted(cases)[part::last + 1]
    failed = []
    for name in names:
        begin = time.monotonic()
        run = subprocess.run([tool, *cases[name]], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             errors="replace")
        seconds = time.monotonic() - begin
        if not clean(cases[name], run):
            failed.append(name)
            print(f"$ {tool} {' '.join(cases[name])}\n{run.stdout}\nexit code {run.returncode}")
        print(f"{kind} {name}: {'FAILED' if name in failed else 'clean'}, {SCHEDULES} schedules in {seconds:.1f} s", flush=True)
    sys.exit(f"{len(failed)} of {len(names)} failed: {' '.join(failed)}" if failed else 0)


main()
