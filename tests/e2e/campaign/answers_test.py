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
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
KINDS = {"complete": "judged", "truncated": "truncated", "refused": "refused", "empty": "empty"}


def load_toml(*path):
    with open(os.path.join(ROOT, *path), "rb") as file:
        return tomllib.load(file)


def make(folder):
    subprocess.run([sys.executable, os.path.join(HERE, "make_answers.py"), folder], check=True)
    with open(os.path.join(folder, "expected.json"), encoding="utf-8") as file:
        return json.load(file)


def differences(one, other):
    compared = filecmp.dircmp(one, other)
    found = compared.left_only + compared.right_only + compared.diff_files + compared.funny_files
    return found + [name for sub in compared.common_dirs for name in differences(os.path.join(one, sub), os.path.join(other, sub))]


def facts():
    """Category and level of every problem."""
    found = {}
    root = os.path.join(ROOT, "problems")
    for category in os.listdir(root):
        folder = os.path.join(root, category)
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            problem = load_toml("problems", category, name, "problem.toml")
            found[name] = (problem["category"], str(problem["level"]))
    return found


def figures_of(rows, folder, known):
    """What figures.toml says about a model, counted."""
    passed = {row["problem"]: row["round"] for row in rows if row["outcome"] == "pass"}
    calls = []
    for row in rows:
        path = os.path.join(folder, row["model"], row["problem"], f"{row['sample']}.{row['round']}.json")
        with open(path, encoding="utf-8") as file:
            calls.append(json.load(file))
        kind = KINDS[calls[-1]["end"]]
        assert row["outcome"] == kind or (kind == "judged" and row["outcome"] not in KINDS), (row, kind)
    first = sum(number == 1 for number in passed.values())
    count = lambda index: {key: sum(known[p][index] == key for p in passed) for key in {f[index] for f in known.values()}}
    return {
        "passed_in_round_1": first, "passed": len(passed),
        "pass_rate_round_1": first / len(known), "pass_rate": len(passed) / len(known),
        "passed_by_category": count(0), "passed_by_level": count(1),
        "attempts": len(rows), "attempts_by_outcome": dict(collections.Counter(row["outcome"] for row in rows)),
        "usd": math.fsum(call["usd"] for call in calls),
        "input_tokens": sum(call["usage"]["input_tokens"] for call in calls),
        "output_tokens": sum(call["usage"]["output_tokens"] for call in calls),
    }


def same(counted, written):
    return math.isclose(counted, written, rel_tol=1e-12) if isinstance(counted, float) else counted == written


def main():
    work = sys.argv[1]
    one, other = os.path.join(work, "answers"), os.path.join(work, "answers_again")
    expected = make(one)
    make(other)
    complaints = [f"made differently the second time: {name}" for name in differences(one, other)]
    known, written = facts(), load_toml("tests", "campaign", "figures.toml")

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
