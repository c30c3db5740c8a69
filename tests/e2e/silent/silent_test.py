#!/usr/bin/env python3
"""Runs a program with --check and looks at how that ends and what its last line claims.

The comment at the program's top says what is expected:
  // exit: N             exit code under --check
  // says: TEXT          the output contains this; [NAME] is the line that ends with `// [NAME]`
  // never: TEXT         … and not this
  // unchecked: N        exit code without --check
  // ignoring: N         exit code with --ignore-errors; `ignoring says` and `ignoring never` go with it
  // ranks: N            1 where it is not said
  // options: WORDS      further options

Without a program: what belongs to no single one.

Usage: silent_test.py FABRICBENCH [PROGRAM.cu]
"""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
SCHEDULES = 2

CLOSING = re.compile(r"fabricbench: (?:.*?(?P<schedules>\d+) (?:of \d+ )?schedules? \(.*\), (?P<kernels>[\d,]+) kernels?"
                     r"(?:, [\d,]+ library operations?)?, (?P<accesses>[\d,]+) access(?:es)? checked: (?P<findings>[\d,]+) "
                     r"findings?(?:, but .*)?(?: \(note: \d+ errors? ignored\))?|nothing was checked: no kernel .*)")


def read_header(path):
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    marks = {found[1]: str(number) for number, line in enumerate(lines, 1) if (found := re.search(r"// \[(\w+)\]$", line))}
    header = {}
    for line in lines:
        if found := re.match(r"// (exit|says|never|unchecked|ignoring|ignoring says|ignoring never|ranks|options): (.*)$", line):
            text = re.sub(r"\[(\w+)\]", lambda m: marks.get(m[1], m[0]), found[2])
            header.setdefault(found[1], []).append(text)
    return header


class Run:
    def __init__(self, tool, *words):
        self.command = [tool, "exec", *words]
        done = subprocess.run(self.command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=250, check=False)
        self.code, self.output = done.returncode, done.stdout
        print(f"$ {shlex.join(self.command[1:])}\n{self.output}exit code {self.code}\n")

    def complaints(self, code, says, never):
        found = [] if self.code == int(code) else [f"exit code {self.code}, expected {code}"]
        found += [f"it does not say {text!r}" for text in says if text not in self.output]
        return found + [f"it says {text!r}" for text in never if text in self.output]

    def complaints_about_last_line(self):
        """It counts, and agrees with the exit code."""
        last = self.output.splitlines()[-1] if self.output else ""
        closing = CLOSING.fullmatch(last)
        if not closing:
            return [f"the last line counts nothing: {last!r}"]
        if closing["findings"] is None:
            return [] if self.code == 2 else [f"nothing was checked, and the exit code is {self.code}"]
        clean = closing["findings"] == "0" and ", but " not in last
        return [] if clean == (self.code == 0) else [f"exit code {self.code} and {last!r}"]


def test_program(tool, path):
    header = read_header(path)
    one = lambda key: header.get(key, [""])[0]
    source = os.path.relpath(path, ROOT)
    common = ["--ranks", one("ranks") or "1", *shlex.split(one("options"))]
    check = [*common, "--check", "--schedules", str(SCHEDULES)]
    with tempfile.TemporaryDirectory() as folder:
        record = os.path.join(folder, "record.json")
        run = Run(tool, *check, "--record", record, source)
        with open(record, encoding="utf-8") as file:
            counts = json.load(file)["counts"]
    problems = run.complaints(one("exit"), header.get("says", []), header.get("never", []))
    problems += run.complaints_about_last_line()
    if run.code == 0 and counts["kernels"] == 0:
        problems.append(f"the record counts no kernel: {counts}")
    # What is found is found again.
    again = re.findall(r"^fabricbench: again: fabricbench exec (.*)$", run.output, re.MULTILINE)
    if run.code == 1 and len(again) != 1:
        problems.append("it does not say how to run it again")
    for words in again:
        replay = Run(tool, *shlex.split(words))
        problems += [f"again: {text}" for text in replay.complaints(1, header.get("says", [])[:1], [])]
        problems += [f"again: {text}" for text in replay.complaints_about_last_line()]
    if "unchecked" in header:
        problems += [f"without --check: {text}" for text in Run(tool, *common, source).complaints(one("unchecked"), [], [])]
    if "ignoring" in header:
        ignoring = Run(tool, *check, "--ignore-errors", source)
        problems += [f"with --ignore-errors: {text}" for text in
                     ignoring.complaints(one("ignoring"), header.get("ignoring says", []), header.get("ignoring never", [])) +
                     ignoring.complaints_about_last_line()]
    return problems


def test_options(tool):
    """Ways to search and to start, and words that are not understood."""
    clean = os.path.relpath(os.path.join(HERE, "right_empty.cu"), ROOT)
    spins = os.path.relpath(os.path.join(HERE, "right_flag.cu"), ROOT)
    cases = [
        (["--check", "--seed", "7", "--ranks", "1", clean], 0, ["1 schedule (seed 7), 1 kernel, 0 accesses checked: 0 findings"]),
        (["--check", "--exhaustive", "0", "--ranks", "1", clean], 0, ["with up to 0 preemptions, ", " checked: 0 findings"]),
        (["--check", "--ranks", "1", "--timeout", "200", clean], 0, ["20 schedules (seeds from 1), 20 kernels"]),
        (["--schedules", "2", "--ranks", "1", clean], 0,
         ["2 schedules (seeds from 1), 2 kernels: every run ended well (--check looks for races)"]),
        (["--check", "--", "/bin/true"], 2, ["nothing was checked: no kernel was launched"]),
        (["--check", "/bin/true", "--", "x"], 2, ["nothing was checked: no kernel was launched"]),
        (["--", "/bin/echo", "-n", "it runs"], 0, ["it runs"]),
        (["--", "/bin/false"], 1, ["again: fabricbench exec", "/bin/false"]),
        (["--chekc", clean], 2, ["--chekc: unknown option; did you mean '--check'?", "fabricbench exec --help"]),
        (["--seeds=3", clean], 2, ["--seeds=3: unknown option; did you mean '--seed'?"]),
        (["--ignore-errors", clean], 2, ["--ignore-errors needs --check"]),
        (["--check", "--schedules", "2", spins], 0, ["note: not replayable: a host thread polls memory"]),
    ]
    problems = []
    for words, code, says in cases:
        run = Run(tool, *words)
        problems += [f"{shlex.join(words)}: {text}" for text in run.complaints(code, says, ["nvcc --help", "nothing found"])]
    return problems


def main():
    problems = test_program(sys.argv[1], sys.argv[2]) if len(sys.argv) > 2 else test_options(sys.argv[1])
    for problem in problems:
        print("FAIL", problem)
    sys.exit(1 if problems else 0)


main()
