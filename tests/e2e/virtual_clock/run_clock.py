#!/usr/bin/env python3
"""Two runs of times.cu under --virtual-clock print the same, and no date of the host. In late_rank.cu one
rank sleeps while another waits for it and has not called CUDA yet.

Usage: run_clock.py FABRICBENCH
"""
import pathlib
import subprocess
import sys
import time


def run(tool, program, *options, timeout=300):
    source = pathlib.Path(__file__).resolve().parent / program
    command = [tool, "exec", "--platform", "h100x8", "--virtual-clock", *options, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=timeout)
    print(done.stdout, done.stderr, sep="", end="")
    return done


def main():
    tool = sys.argv[1]
    first, second = (run(tool, "times.cu") for _ in range(2))
    if first.returncode != 0 or first.stdout != second.stdout:
        sys.exit("failed, or two runs of one seed differ")
    if f"date {int(time.time())}"[:9] in first.stdout:
        sys.exit("the date is the host's")
    # Once to compile. Behind 20 seconds the machine waits for no more ranks, so the run itself must take less.
    run(tool, "late_rank.cu", "--ranks", "2", "-std=c++20")
    late = run(tool, "late_rank.cu", "--ranks", "2", "-std=c++20", timeout=15)
    if late.returncode != 0 or sorted(late.stdout.split("\n")[:2]) != [f"rank {r} slept 250 ms" for r in range(2)]:
        sys.exit("a rank that sleeps before another has come was not told right")


main()
