#!/usr/bin/env python3
"""Judges answers that did not pass again, with the recorded seed: class and text must be the same.

The verdicts are those that run.py (of candidates and of exploits) has saved.
Usage: replay.py FABRICBENCH FOLDER… [--jobs N] [--sample N]      --sample: N of them, chosen by the hashes of their names
"""
import argparse
import concurrent.futures
import hashlib
import itertools
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import judged  # noqa: E402


def saved_in(folders):
    for folder in folders:
        for name in sorted(os.listdir(folder)):
            if name.endswith(".json"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    yield json.load(file)


def difference(before, after):
    """The first line that differs."""
    lines = itertools.zip_longest(str(before).splitlines(), str(after).splitlines(), fillvalue="(nothing)")
    return next((f"was '{old}', is '{new}'" for old, new in lines if old != new), "ends otherwise")


def replay(tool, saved):
    """Complaints about one verdict."""
    candidate, first = judged.Candidate(saved["path"]), saved["verdict"]
    again = judged.check(tool, candidate, seed=first["seed"])
    if again.verdict is None:
        return candidate.name, [f"no verdict: {again.errors[-400:]}"]
    return candidate.name, [f"{key}: {difference(first.get(key), value)}"
                            for key, value in again.text().items() if value != first.get(key)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--sample", type=int)
    arguments = parser.parse_args()
    not_passed = [saved for saved in saved_in(arguments.folders) if saved["verdict"]["class"] != "pass"]
    if arguments.sample:
        not_passed.sort(key=lambda saved: hashlib.sha256(os.path.basename(saved["path"]).encode()).digest())
        not_passed = not_passed[:arguments.sample]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        results = list(pool.map(lambda saved: replay(arguments.tool, saved), not_passed))
    for name, found in results:
        for complaint in found:
            print(f"FAIL {name}: {complaint}")
    same = sum(not found for _, found in results)
    print(f"{same} of {len(results)} verdicts reproduce from their seed")
    sys.exit(0 if results and same == len(results) else 1)


main()
