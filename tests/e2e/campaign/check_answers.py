#!/usr/bin/env python3
"""Judges the answers that make_answers.py has made, one by one and without a campaign: each must get the outcome that answers.toml says.

Usage: check_answers.py FABRICBENCH ANSWERS [--full] [--recipe R] [--problem P] [--model M]

Answers that never reach the judge (truncated, refused, empty) are left out; so are repetitions of a recipe for the same problem, which differ
in prose only. With --full the speed is shown too.
"""
import argparse
import json
import os
import subprocess
import sys
import time

NOT_JUDGED = {"truncated", "refused", "empty"}


def chosen(rows, arguments):
    seen = set()
    for row in rows:
        key = (row["problem"], row["recipe"])
        wanted = all(getattr(arguments, name) in (None, row[name]) for name in ("recipe", "problem", "model"))
        if wanted and row["outcome"] not in NOT_JUDGED and key not in seen:
            seen.add(key)
            yield row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("answers")
    parser.add_argument("--full", action="store_true")
    for name in ("recipe", "problem", "model"):
        parser.add_argument("--" + name)
    arguments = parser.parse_args()
    with open(os.path.join(arguments.answers, "expected.json"), encoding="utf-8") as file:
        rows = list(chosen(json.load(file), arguments))
    wrong, begun = 0, time.monotonic()
    for row in rows:
        path = os.path.join(arguments.answers, row["model"], row["problem"], f"{row['sample']}.{row['round']}.md")
        before = time.monotonic()
        run = subprocess.run([arguments.tool, "check", row["problem"], path, "--json", "--full" if arguments.full else "--quick"],
                             capture_output=True, text=True, timeout=300)
        verdict = json.loads(run.stdout)
        right = verdict["class"] == row["outcome"]
        wrong += not right
        speed = f"  speed {verdict['speed']:.2f}" if verdict.get("speed") else ""
        print(f"{'ok  ' if right else 'FAIL'} {row['problem']:20} {row['recipe']:28} {verdict['class']:15} "
              f"{time.monotonic() - before:5.2f} s{speed}", flush=True)
        if not right:
            print(f"     expected {row['outcome']}: {verdict['summary']}")
    print(f"{len(rows) - wrong} of {len(rows)} as expected, {time.monotonic() - begun:.0f} s")
    sys.exit(1 if wrong else 0)


main()
