#!/usr/bin/env python3
"""Judges hostile and odd answers: each must get its class and leave nothing behind.

Usage: run.py FABRICBENCH [--save FOLDER] [--timed] [FILE…]        without files: all candidates of this folder
       run.py --show NAME        prints an answer as it is judged
--timed: the seconds that the header allows count, too.
"""
import argparse
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import judged  # noqa: E402
from left_behind import Watch, isolate  # noqa: E402


def run(tool, candidate, save, timed):
    watch = Watch()
    result = judged.check(tool, candidate, environment=watch.environment)
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
    parser.add_argument("tool", nargs="?")
    parser.add_argument("files", nargs="*")
    parser.add_argument("--save")
    parser.add_argument("--timed", action="store_true")
    parser.add_argument("--show")
    arguments = parser.parse_intermixed_args()
    if arguments.show:
        judged.show(HERE, arguments.show)
        return
    if not arguments.tool:
        parser.error("FABRICBENCH is missing")
    isolate()
    chosen = [judged.Candidate(path) for path in arguments.files] or judged.candidates_in(HERE)
    right = [run(arguments.tool, candidate, arguments.save, arguments.timed) for candidate in chosen]
    if len(right) > 1:
        print(f"{sum(right)} of {len(right)} as expected")
    sys.exit(0 if all(right) else 1)


main()
