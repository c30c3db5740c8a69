#!/usr/bin/env python3
"""Runs the programs of this folder with --check: the right form must be clean, and its twin with -DMISTAKE reported. The right
form must also notice a wrong value in each array that it reads back: -DWRONG_VALUE=N puts one there.

Usage: grown_test.py FABRICBENCH [FILE…]     all programs of this folder where none is named

Comments at the top of a program: `class` of the report (none: there is no twin), `also` (other classes that may be reported),
`lines` (marks, as // [write] at the end of a line, that the report must name), `flags` and `ranks` of `fabricbench exec`.
$FABRICBENCH_SCHEDULES: schedules of the right form (default: 3; the promise is 20). The twin has 20.
"""
import glob
import os
import re
import shlex
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
SCHEDULES = os.environ.get("FABRICBENCH_SCHEDULES", "3")
CHANGED = "a value was changed"
RACE = re.compile(r"^fabricbench: race: ([^:(\n]+?)(?: \(.*?\))?: ", re.MULTILINE)


def header_of(source):
    return dict(re.findall(r"^// (class|also|lines|flags|ranks): (.+)$", source, re.MULTILINE))


def run(tool, path, header, *more):
    command = [tool, "exec", "--check", "--ranks", header.get("ranks", "1"), *shlex.split(header.get("flags", "")), *more,
               os.path.relpath(path, ROOT)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    return done.returncode, done.stdout, " ".join(command)


def wrong_values(tool, path, header):
    array, changed = 0, True
    while changed:
        array += 1
        code, output, command = run(tool, path, header, f"-DWRONG_VALUE={array}")
        changed = CHANGED in output
        if changed and (code == 0 or "OK " in output):
            yield f"a wrong value in array {array} is not noticed\n$ {command}\n{output}"
    if array == 1:
        yield f"no values are read back\n$ {command}\n{output}"


def complaints(tool, path):
    with open(path, encoding="utf-8") as file:
        source = file.read()
    header = header_of(source)
    code, output, command = run(tool, path, header, "--schedules", SCHEDULES)
    if code != 0 or "OK " not in output or RACE.search(output):
        yield f"the right form is not clean\n$ {command}\n{output}"
    yield from wrong_values(tool, path, header)
    if "class" not in header:
        return
    code, output, command = run(tool, path, header, "--schedules", "20", "-DMISTAKE")
    # Which of two unordered accesses comes first is the schedule's business.
    races = {re.sub(r"^unordered .*", "unordered", name) for name in RACE.findall(output)}
    wrong = [] if code == 1 else [f"exit code {code}"]
    if header["class"] not in races:
        wrong.append(f"{header['class']} is not reported")
    wrong += [f"also reported: {other}" for other in races - {header["class"], *header.get("also", "").split(", ")}]
    for mark in header.get("lines", "").split():
        lines = [n for n, text in enumerate(source.splitlines(), 1) if text.endswith(f"// [{mark}]")]
        if not any(f"{os.path.basename(path)}:{n} " in output for n in lines):
            wrong.append(f"no report names the line [{mark}]")
    if wrong:
        yield f"the twin: {'; '.join(wrong)}\n$ {command}\n{output}"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    paths = [os.path.abspath(path) for path in sys.argv[2:]] or sorted(glob.glob(os.path.join(HERE, "*.cu")))
    failed = []
    for path in paths:
        found = list(complaints(sys.argv[1], path))
        name = os.path.basename(path)
        print("\n".join([f"{name}: {text}" for text in found] or [f"{name}: ok"]), flush=True)
        if found:
            failed.append(name)
    sys.exit(f"{len(failed)} of {len(paths)} failed: {' '.join(failed)}" if failed else 0)


main()
