#!/usr/bin/env python3
"""Processor time of a product of bf16 matrices of 1024 x 1024 x 1024, with and without the race checker: at most 0.12 s.

OpenBLAS takes some 0.02 s for the sums alone.

Usage: run_cost.py FABRICBENCH
"""
import os
import resource
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MOST = 0.12


def seconds_of(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=HERE, check=True, timeout=100)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    wrong = False
    for check in [[], ["--check", "--seed", "0"]]:
        command = [sys.argv[1], "exec", *check, "--platform", "h100x8", "cost.cu", "-lcublas", "--"]
        seconds_of(command)  # compiles
        cost = min(seconds_of(command) for _ in range(3)) - min(seconds_of([*command, "without"]) for _ in range(3))
        print(f"{'with' if check else 'without'} the race checker: {cost:.3f} s")
        wrong |= cost > MOST
    return wrong


if __name__ == "__main__":
    sys.exit(main())
