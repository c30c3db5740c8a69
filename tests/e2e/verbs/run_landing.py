#!/usr/bin/env python3
"""The payload of a write lands in an order that the seed decides: without one in order, with others also the last byte first.

usage: run_landing.py FABRICBENCH PROGRAM.cu"""

import subprocess
import sys

TOOL, PROGRAM = sys.argv[1:3]


def run(*options):
    done = subprocess.run([TOOL, "exec", "--platform", "gh200x2", "--ranks", "1", *options, "-libverbs", PROGRAM],
                          capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        sys.exit(f"{options}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


if run() != "in order":
    sys.exit("without a seed the parts of a write land in order")
seen = [run("--seed", str(seed)) for seed in range(1, 9)]
if "late" not in seen or "in order" not in seen:
    sys.exit(f"of eight seeds some see the last byte first: {seen}")
if run("--seed", str(seen.index("late") + 1)) != "late":
    sys.exit("a seed is one order")
