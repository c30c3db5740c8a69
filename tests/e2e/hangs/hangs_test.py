#!/usr/bin/env python3
"""Runs a program that hangs and checks how the machine explains it.

The comment at the program's top says what is expected:
  // cause: NAME        the cause that the first line of the explanation names
  // ranks: N           how many ranks to start; 1 where it is not said
  // says: TEXT         a further text that the explanation must contain
Lines that end with `// waits` are where threads must be said to wait, one of them in the first line of the explanation (with a
stream that waits there is none). The run, without the compilation, may take 2 s.

Usage: hangs_test.py FABRICBENCH PROGRAM.cu
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = 2.0  # with --timed
MOST_LINES = 45


def expectations(source):
    """Cause, ranks, further texts, and the numbers of lines that wait."""
    with open(source) as file:
        lines = file.read().splitlines()
    words = {"cause": [], "ranks": [], "says": []}
    for line in lines:
        found = re.match(r"// (cause|ranks|says): (.*)", line)
        if found:
            words[found[1]].append(found[2])
    waits = [number for number, line in enumerate(lines, 1) if line.endswith("// waits")]
    return words["cause"][0], (words["ranks"] or ["1"])[0], words["says"], waits


def run(tool, source, ranks, directory):
    record = os.path.join(directory, "record.json")
    command = [tool, "exec", "--platform", "h100x8", "--ranks", ranks, "--record", record, source]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250)
    print(done.stdout + done.stderr)
    with open(record) as file:
        return done.returncode, json.load(file)


def main():
    tool, source = sys.argv[1:3]
    if source == "--timed":  # all programs, and the time of each counts
        sys.exit(1 if sum(test(tool, path, timed=True) for path in sorted(glob.glob(f"{HERE}/*.cu"))) else 0)
    sys.exit(1 if test(tool, source) else 0)


def test(tool, source, timed=False):
    """Prints what is not as expected; true: something is."""
    cause, ranks, says, waits = expectations(source)
    name = os.path.basename(source)
    problems = []
    with tempfile.TemporaryDirectory() as directory:
        code, record = run(tool, source, ranks, directory)
    if code != 1:
        problems.append(f"exit code {code}")
    if record["ending"] != "deadlock":
        problems.append(f"the ending is {record['ending']}")
    texts = [incident["text"] for incident in record["incidents"] if incident["kind"] == "deadlock"]
    if len(texts) != 1:
        problems.append(f"{len(texts)} incidents say deadlock")
    text = "".join(texts)
    first = text.partition("\n")[0]
    if not first.startswith(f"{cause}: "):
        problems.append(f"the first line does not name the cause: {first!r}, expected {cause!r}")
    places = [f"{name}:{line}" for line in waits]
    if places and not any(re.search(rf"{re.escape(place)}\b", first) for place in places):
        problems.append(f"the first line names none of {places}: {first!r}")
    problems += [f"the text does not say {word!r}" for word in says if word not in text]
    if "Look at: " not in text:
        problems.append("the text gives no advice")
    if text.count("\n") > MOST_LINES:
        problems.append(f"the text has {text.count(chr(10))} lines")
    seconds = record["wall_seconds"]["run"]
    if timed and seconds > SECONDS:
        problems.append(f"the run took {seconds:.2f} s")
    for problem in problems:
        print("FAIL", problem)
    return bool(problems)


main()
