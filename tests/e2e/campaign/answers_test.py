#!/usr/bin/env python3
"""The recorded answers are made the same way every time, and the figures that were worked out by hand are those of the table.

Usage: answers_test.py WORK_FOLDER
"""
import collections
import filecmp
import json
import math
import os
import subprocess
import sys

from figures import HERE, facts, figures_of, load_toml


def make(folder):
    subprocess.run([sys.executable, os.path.join(HERE, "make_answers.py"), folder], check=True)
    with open(os.path.join(folder, "expected.json"), encoding="utf-8") as file:
        return json.load(file)


def differences(one, other):
    compared = filecmp.dircmp(one, other)
    found = compared.left_only + compared.right_only + compared.diff_files + compared.funny_files
    return found + [name for sub in compared.common_dirs for name in differences(os.path.join(one, sub), os.path.join(other, sub))]


def same(counted, written):
    return math.isclose(counted, written, rel_tol=1e-12) if isinstance(counted, float) else counted == written


def main():
    work = sys.argv[1]
    one, other = os.path.join(work, "answers"), os.path.join(work, "answers_again")
    expected = make(one)
    make(other)
    complaints = [f"made differently the second time: {name}" for name in differences(one, other)]
    known, written = facts({row["problem"] for row in expected}), load_toml("tests", "e2e", "campaign", "figures.toml")

    def compare(name, counted, figure):
        if not same(counted, figure):
            complaints.append(f"{name}: {counted} counted, {figure} in figures.toml")

    compare("problems", len(known), written["problems"])
    compare("by_category", dict(collections.Counter(f[0] for f in known.values())), written["by_category"])
    compare("by_level", dict(collections.Counter(f[1] for f in known.values())), written["by_level"])
    totals = collections.Counter()
    for model in sorted({row["model"] for row in expected}):
        rows = [row for row in expected if row["model"] == model]
        # A sample goes on until it passes, and no further.
        for problem in known:
            rounds = [row["outcome"] for row in rows if row["problem"] == problem]
            if "pass" in rounds[:-1] or (rounds[-1] != "pass" and len(rounds) != 2):
                complaints.append(f"{model}, {problem}: {rounds} is no sample of two rounds at most")
        counted = figures_of(rows, one, known)
        if set(counted) != set(written[model]):
            complaints.append(f"{model}: other figures than {sorted(counted)}")
        for name, value in counted.items():
            compare(f"{model}: {name}", value, written[model].get(name))
        totals += collections.Counter(attempts=counted["attempts"])
        totals["usd"] += counted["usd"]
    compare("all: attempts", totals["attempts"], written["all"]["attempts"])
    compare("all: usd", float(totals["usd"]), written["all"]["usd"])
    print("\n".join(complaints) or f"{len(expected)} answers, figures as worked out by hand")
    sys.exit(1 if complaints else 0)


main()
