#!/usr/bin/env python3
"""Runs api_errors.cu: no row may fail, and at least 40 must have been tried.

Usage: run_api_errors.py FABRICBENCH PLATFORM [PART OF A ROW'S NAME]
"""
import os
import re
import subprocess
import sys

LEAST_ROWS = 40


def main():
    tool, platform = sys.argv[1:3]
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "api_errors.cu")
    command = [tool, "exec", "--platform", platform, "--ranks", "1", source]
    if len(sys.argv) > 3:
        command += ["--", sys.argv[3]]
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    print(run.stdout, end="")
    failed = re.findall(r"^FAIL .*$", run.stdout, re.MULTILINE)
    passed = re.findall(r"^ok .*$", run.stdout, re.MULTILINE)
    ended = re.search(r"^0 failed$", run.stdout, re.MULTILINE)
    print(f"{len(passed)} ok, {len(failed)} failed, exit code {run.returncode}")
    if failed or not ended or (len(sys.argv) == 3 and len(passed) < LEAST_ROWS):
        sys.exit(1)


main()
