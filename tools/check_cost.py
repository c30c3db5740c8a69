#!/usr/bin/env python3
"""What looking for races costs: processor time of sessions with the checker and without, in one run.

Each problem's reference is judged with few schedules and with more, both ways; the difference is the sessions alone.
Usage: check_cost.py FABRICBENCH [PROBLEM…] [--schedules N] [--most RATIO] [--most-of-all RATIO]
"""
import argparse
import math
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def processor_time(tool, problem, schedules, races):
    """Seconds of all processes of one judgement, ranks and machine included."""
    words = [tool, "check", "--quick", "--no-reference", "--seed", "3", "--schedules", str(schedules), problem.name, str(problem / "reference.cu")]
    if not races:
        words.insert(2, "--no-races")
    before = os.times()
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True)
    after = os.times()
    if done.returncode != 0:
        sys.exit(f"{problem.name}: {done.stdout}")
    return after.children_user + after.children_system - before.children_user - before.children_system


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("problems", nargs="*")
    parser.add_argument("--schedules", type=int, default=6)
    parser.add_argument("--most", type=float, default=0, help="fail if a named problem costs more")
    parser.add_argument("--most-of-all", type=float, default=0, help="fail if the geometric mean is more")
    options = parser.parse_args()
    folders = sorted(p.parent for p in ROOT.glob("problems/*/*/reference.cu"))
    if options.problems:
        folders = [p for p in folders if p.name in options.problems]
    ratios = []
    for problem in folders:
        processor_time(options.tool, problem, 1, False)  # builds and oracles are kept from now on
        cost = []
        for races in (False, True):
            few, more = (processor_time(options.tool, problem, n, races) for n in (1, 1 + options.schedules))
            cost.append(max(more - few, 1e-3))
        ratio = cost[1] / cost[0]
        ratios.append((ratio, problem.name))
        print(f"{problem.name:24} {cost[0]:7.2f} s without, {cost[1]:7.2f} s with: {ratio:.2f}", flush=True)
    mean = math.exp(sum(math.log(r) for r, _ in ratios) / len(ratios))
    print(f"geometric mean of {len(ratios)}: {mean:.2f}; most: {max(ratios)[0]:.2f} ({max(ratios)[1]})")
    if options.most and max(ratios)[0] > options.most:
        sys.exit(f"more than {options.most}")
    if options.most_of_all and mean > options.most_of_all:
        sys.exit(f"more than {options.most_of_all} in the mean")


if __name__ == "__main__":
    main()
