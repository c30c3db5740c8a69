#!/usr/bin/env python3
"""How long whole runs take, process start and compile from cache included: the best of a few runs counts.

Usage: wall_time.py FABRICBENCH all_reduce|rack
"""
import os
import subprocess
import sys
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
ATTEMPTS = 4
CASES = {  # seconds, platform, ranks, example, arguments
    "all_reduce": (1.0, "h100x8", 8, "10_one_shot_all_reduce.cu", ["262144"]),  # 1 MiB of f32
    "rack": (10.0, "gb200_nvl72", 72, "15_small_all_gather_and_barrier.cu", []),
}


def main():
    tool, (seconds, platform, ranks, example, arguments) = sys.argv[1], CASES[sys.argv[2]]
    command = [tool, "exec", "--platform", platform, "--ranks", str(ranks), os.path.join(ROOT, "examples", example)]
    if arguments:
        command += ["--"] + arguments
    best = None
    for _ in range(ATTEMPTS):
        began = time.monotonic()
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        took = time.monotonic() - began
        if run.returncode != 0:
            sys.exit(f"{run.stdout}\nexit code {run.returncode}")
        best = took if best is None else min(best, took)
        print(f"{took:.2f} s: {run.stdout.strip()}")
        if best < seconds:
            return
    sys.exit(f"{best:.2f} s, {seconds:.0f} s are allowed")


main()
