"""Counts what reports must say about recorded answers. answers_test.py compares them with figures.toml, worked out by hand."""
import collections
import json
import math
import os
import pathlib
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
KINDS = {"complete": "judged", "truncated": "truncated", "refused": "refused", "empty": "empty"}


def load_toml(*path):
    with open(os.path.join(ROOT, *path), "rb") as file:
        return tomllib.load(file)


def facts(names):
    """Category and level of problems."""
    found = {}
    for file in pathlib.Path(ROOT, "problems").glob("*/*/*/problem.toml"):
        if file.parent.name in names:
            problem = load_toml(file)
            found[file.parent.name] = (problem["category"], str(problem["level"]))
    for file in pathlib.Path(ROOT, "problems").glob("*/*/*/variants/*/variant.toml"):
        variant = load_toml(file)
        if variant["name"] in names:
            found[variant["name"]] = (load_toml(file.parents[2], "problem.toml")["category"], str(variant["level"]))
    return found


def figures_of(rows, folder, known):
    """The figures of one model: `rows` of expected.json, answers in `folder`, problems with their facts()."""
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
