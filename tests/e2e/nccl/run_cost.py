#!/usr/bin/env python3
"""Processor time of one all-reduce on 8 ranks, with and without the race checker: 64 MiB at most 0.3 s, 1 GiB 4 s.

The difference between runs of k and of 2k calls: starting the run, allocating and filling buffers are not in it. The
larger one takes 8 GiB of memory and is left out where there is less.

Usage: run_cost.py FABRICBENCH
"""
import os
import resource
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# (MiB, k, repetitions, seconds)
CASES = [(64, 4, 3, 0.3), (1024, 2, 2, 4.0)]


def seconds_of(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=HERE, check=True, timeout=100)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    tool = os.path.abspath(sys.argv[1])
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    wrong = False
    for mib, calls, repetitions, most in CASES:
        if memory < 10 * mib << 20:
            print(f"{mib} MiB: not measured, {memory >> 20} MiB of memory are free")
            continue
        for check in [[], ["--check", "--seed", "0"]]:
            command = [tool, "exec", *check, "--platform", "h100x8", "cost.cu", "-lnccl", "--", str(mib)]
            seconds_of([*command, "0"])  # compiles
            least = [min(seconds_of([*command, str(n)]) for _ in range(repetitions)) for n in [calls, 2 * calls]]
            cost = (least[1] - least[0]) / calls
            print(f"{mib} MiB {'with' if check else 'without'} the race checker: {cost:.2f} s")
            wrong |= cost > most
    return wrong


if __name__ == "__main__":
    sys.exit(main())
