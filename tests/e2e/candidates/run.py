#!/usr/bin/env python3
"""Judges hostile and odd answers: each must get its class and leave nothing behind.

Usage: run.py FABRICBENCH [--save FOLDER] [--timed] [FILE…]        without files: all candidates of this folder
--timed: the seconds that the header allows count, too.
"""
import argparse
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import judged  # noqa: E402
from generated import GENERATED  # noqa: E402
from left_behind import Watch, isolate  # noqa: E402


def run(tool, candidate, save, timed):
    watch = Watch()
    with tempfile.TemporaryDirectory(prefix="answer") as folder:
        answer = None
        if "generate" in candidate.header:
            answer = os.path.join(folder, candidate.name + ".cu")
            with open(answer, "wb") as file:
                file.write(GENERATED[candidate.header["generate"]]())
        result = judged.check(tool, candidate, answer, environment=watch.environment)
    found = judged.complaints(candidate, result)
    if timed and result.seconds > candidate.seconds:
        found.append(f"took {result.seconds:.1f} s, {candidate.seconds:.0f} s are allowed")
    if result.verdict and candidate.header.get("note") and not result.verdict.get("notes"):
        found.append("the verdict has no note")
    found += watch.found()
    if save and result.verdict:
        judged.save(save, candidate, result)
    return judged.report(candidate, result, found)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("files", nargs="*")
    parser.add_argument("--save")
    parser.add_argument("--timed", action="store_true")
    arguments = parser.parse_intermixed_args()
    isolate()
    chosen = [judged.Candidate(path) for path in arguments.files] or judged.candidates_in(HERE)
    right = [run(arguments.tool, candidate, arguments.save, arguments.timed) for candidate in chosen]
    if len(right) > 1:
        print(f"{sum(right)} of {len(right)} as expected")
    sys.exit(0 if all(right) else 1)


main()
