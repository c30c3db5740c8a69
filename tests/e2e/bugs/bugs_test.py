#!/usr/bin/env python3
"""Runs the programs of this folder with --check, in both forms (README.md says what each must report). With --coverage it
runs nothing and checks that the table of README.md and the files agree.

Usage: bugs_test.py FABRICBENCH [FILE…]     all programs of this folder where none is named
       bugs_test.py --coverage

$FABRICBENCH_SCHEDULES: schedules of the repaired form (default: 20). The defective form always has 20, and 10 seconds.
"""
import argparse
import glob
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
DEFECTIVE_SCHEDULES = 20
DEFECTIVE_SECONDS = 10.0
REPAIRED_SCHEDULES = int(os.environ.get("FABRICBENCH_SCHEDULES", "20"))
BUGS = 15  # rows of the table
LEAST = 13  # of them that have a program

RACE = re.compile(r"^fabricbench: race: ([^:(\n]+?)(?: \(.*?\))?: ", re.MULTILINE)
DEADLOCK = re.compile(r"^fabricbench: deadlock: ([^:\n]+): ", re.MULTILINE)

TIMED = False


class Program:
    def __init__(self, path):
        self.path = path
        self.name = os.path.splitext(os.path.basename(path))[0]
        with open(path, encoding="utf-8") as file:
            self.source = file.read().splitlines()
        self.header = {}
        for line in self.source:
            if not line.startswith("//"):
                break
            match = re.match(r"// (class|also|lines|deadlock|ending|ranks): (.+)$", line)
            if match:
                self.header[match[1]] = match[2]
        self.ranks = self.header.get("ranks", "1")

    def line_of(self, mark):
        numbers = [number for number, text in enumerate(self.source, 1) if text.endswith(f"// [{mark}]")]
        if len(numbers) != 1:
            sys.exit(f"{self.path}: {len(numbers)} lines end in // [{mark}]")
        return f"{os.path.basename(self.path)}:{numbers[0]}"


class Run:
    def __init__(self, tool, program, *flags):
        command = [tool, "exec", "--ranks", program.ranks, *flags, os.path.relpath(program.path, ROOT)]
        begin = time.monotonic()
        run = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             errors="replace", timeout=600)
        self.command = " ".join(command)
        self.seconds = time.monotonic() - begin
        self.code, self.output = run.returncode, run.stdout
        self.races = RACE.findall(self.output)
        self.deadlocks = DEADLOCK.findall(self.output)


def complaints_about_defective(program, run):
    expected, found = program.header, []
    if run.code != 1:
        found.append(f"exit code {run.code}: nothing was found")
    if TIMED and run.seconds > DEFECTIVE_SECONDS:
        found.append(f"it took {run.seconds:.1f} s")
    if "class" in expected and expected["class"] not in run.races:
        found.append(f"expected {expected['class']}, reported: {run.races + run.deadlocks}")
    elif "class" in expected:
        found += [f"the report does not name {line}" for line in map(program.line_of, expected.get("lines", "").split())
                  if line not in run.output]
        allowed = {expected["class"], *expected.get("also", "").split(", ")}
        found += [f"the race is called {other} too" for other in sorted(set(run.races) - allowed)]
    elif run.races:
        found.append(f"there is no race, but it reports {run.races}")
    elif "deadlock" in expected:
        found += complaints_about_hang(program, run)
    if expected.get("ending") == "wrong values" and "FAILED" not in run.output:
        found.append("the program found no wrong value")
    return found


def complaints_about_hang(program, run):
    if program.header["deadlock"] in run.deadlocks:
        return []
    return [f"expected the cause {program.header['deadlock']}, reported: {run.deadlocks}"]


def complaints_about_repaired(run):
    if run.code == 0 and not run.races and "OK " in run.output:
        return []
    return [f"the repaired form is not clean: exit code {run.code}, {run.races + run.deadlocks}"]


def test(tool, program):
    defective = Run(tool, program, "--check", "--schedules", str(DEFECTIVE_SCHEDULES))
    repaired = Run(tool, program, "--check", "--schedules", str(REPAIRED_SCHEDULES), "-DREPAIRED")
    found = [(defective, text) for text in complaints_about_defective(program, defective)]
    if "class" in program.header and "deadlock" in program.header:
        # Races end a checked run. What becomes of this one is seen without the check.
        unchecked = Run(tool, program)
        found += [(unchecked, text) for text in complaints_about_hang(program, unchecked)]
    found += [(repaired, text) for text in complaints_about_repaired(repaired)]
    for run, text in found:
        print(f"{program.name}: {text}\n  {run.command}\n{run.output}")
    what = ", ".join(sorted(set(defective.races + defective.deadlocks))) or program.header.get("ending", "nothing")
    print(f"{program.name}: {'FAILED' if found else 'ok'}: {what} in {defective.seconds:.1f} s; "
          f"repaired: {REPAIRED_SCHEDULES} schedules in {repaired.seconds:.1f} s")
    return bool(found)


def coverage(programs):
    with open(os.path.join(HERE, "README.md"), encoding="utf-8") as file:
        rows = re.findall(r"^\| [^|]+ \| ([^|]*#\d+[^|]*) \| ([^|]+) \|$", file.read(), re.MULTILINE)
    named = {name for _, cell in rows for name in re.findall(r"`(\w+)\.cu`", cell)}
    there = {program.name for program in programs}
    found = [f"README.md names {name}.cu, which is not there" for name in sorted(named - there)]
    found += [f"README.md does not name {name}.cu" for name in sorted(there - named)]
    if len(rows) != BUGS or len(named) < LEAST:
        found.append(f"{len(rows)} bugs in the table, {len(named)} with a program")
    for program in programs:
        if not {"class", "deadlock", "ending"} & set(program.header):
            found.append(f"{program.name}: says nothing about what is expected")
        for mark in program.header.get("lines", "").split():
            program.line_of(mark)
        if not any("REPAIRED" in line for line in program.source):
            found.append(f"{program.name}: has no repaired form")
    print(f"{len(named)} of {len(rows)} bugs have a program")
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool", nargs="?")
    parser.add_argument("files", nargs="*")
    parser.add_argument("--coverage", action="store_true")
    parser.add_argument("--timed", action="store_true", help="the time that a report takes counts")
    global TIMED
    arguments = parser.parse_args()
    TIMED = arguments.timed
    programs = [Program(path) for path in arguments.files or sorted(glob.glob(os.path.join(HERE, "*.cu")))]
    if arguments.coverage:
        found = coverage(programs)
        sys.exit("\n".join(found) if found else 0)
    failed = [program.name for program in programs if test(arguments.tool, program)]
    sys.exit(f"{len(failed)} of {len(programs)} failed: {' '.join(failed)}" if failed else 0)


main()
