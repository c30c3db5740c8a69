#!/usr/bin/env python3
"""Runs a command and requires exit code 0 and a line that matches, as CTest's own expressions can't do both.

Usage: run_example.py [--skip] COMMAND…   A line `OK …` is required; `OK skipped …` only where --skip says so.
"""
import re
import subprocess
import sys


def main():
    arguments = sys.argv[1:]
    may_skip = arguments[0] == "--skip"
    command = arguments[1:] if may_skip else arguments
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    print(run.stdout, end="")
    if run.returncode != 0:
        sys.exit(f"exit code {run.returncode}")
    line = re.search(r"^(?:\[[^\]]*\] )?OK .*$", run.stdout, re.MULTILINE)
    if not line:
        sys.exit("there is no line that begins with OK")
    if ("OK skipped" in line.group()) != may_skip:
        sys.exit("the example was skipped" if not may_skip else "the example was expected to be skipped")


main()
