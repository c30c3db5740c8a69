#!/usr/bin/env python3
"""exec --exhaustive and --schedules on a small program, broken and repaired: what is found, and that it comes again."""

import re
import subprocess
import sys
from pathlib import Path

PROGRAM = str(Path(__file__).parent / "explore" / "message_passing.cu")


def run(tool, *options):
    done = subprocess.run([tool, "exec", *options], capture_output=True, text=True, timeout=250)
    return done.returncode, done.stdout, done.stderr


def expect(condition, what, output):
    if not condition:
        print(f"not so: {what}\n{output[1]}{output[2]}")
        sys.exit(1)


def found_again(tool, output):
    """The command that the report names shows it again."""
    again = re.search(r"^fabricbench: again: fabricbench exec (.*)$", output[2], re.M)
    expect(again, "the report names a command", output)
    repeated = run(tool, *again.group(1).split())
    expect(repeated[0] == 1 and "seen 0" in repeated[1], "the command shows it again", repeated)


def exhaustive(tool):
    broken = run(tool, "--exhaustive", "1", PROGRAM)
    expect(broken[0] == 1, "the flag before its data is found", broken)
    found_again(tool, broken)
    counts = []
    for _ in range(2):
        repaired = run(tool, "--exhaustive", "1", "-DREPAIRED", PROGRAM)
        said = re.search(r"all (\d+) schedules with up to 1 preemption, [\d,]+ kernels: every run ended well", repaired[2])
        expect(repaired[0] == 0 and said, "all schedules of the repaired form are explored", repaired)
        expect(repaired[1].count("seen 7") == 1, "only the first run speaks", repaired)
        counts.append(said.group(1))
    expect(counts[0] == counts[1], f"the same number each time: {counts}", repaired)
    short = run(tool, "--exhaustive", "2", "--schedules", "2", "-DREPAIRED", PROGRAM)
    expect(short[0] == 0 and "the first 2 schedules with up to 2 preemptions (there are more" in short[2], "a limit is named", short)


def schedules(tool):
    broken = run(tool, "--schedules", "50", PROGRAM)
    expect(broken[0] == 1, "some seed shows it", broken)
    found_again(tool, broken)
    repaired = run(tool, "--schedules", "20", "-DREPAIRED", PROGRAM)
    expect(repaired[0] == 0 and "20 schedules (seeds from 1), 40 kernels: every run ended well" in repaired[2], "nothing is found", repaired)


def check(tool):
    racy = run(tool, "--check", "-DUNFENCED", PROGRAM)
    expect(racy[0] == 1 and "fabricbench: race: " in racy[2], "a race is found and named", racy)
    again = re.search(r"^fabricbench: again: fabricbench exec (.* --check .*)$", racy[2], re.M)
    expect(again, "the report names a command that checks", racy)
    repeated = run(tool, *again.group(1).split())
    expect(repeated[0] == 1 and "fabricbench: race: " in repeated[2], "the command finds it again", repeated)
    every = run(tool, "--check", "--exhaustive", "1", "-DUNFENCED", PROGRAM)
    expect(every[0] == 1 and "fabricbench: race: " in every[2], "so does a search through all schedules", every)
    for ways in (["--check"], ["--check", "--exhaustive", "2"]):
        repaired = run(tool, *ways, "-DREPAIRED", PROGRAM)
        expect(repaired[0] == 0 and "accesses checked: 0 findings" in repaired[2], "the repaired form is clean", repaired)


if __name__ == "__main__":
    {"exhaustive": exhaustive, "schedules": schedules, "check": check}[sys.argv[2]](sys.argv[1])
