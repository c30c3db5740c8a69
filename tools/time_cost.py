#!/usr/bin/env python3
"""What the model of time costs: processor time of the same kernels with it and without, in one run.

Each kind of kernel of tests/bench/time_cost.cu is run once and many times, by `fabricbench exec` and by `fabricbench exec --untimed`
alternately; the difference of the two is the kernels alone. The fastest run of several rounds counts. With --most, two rounds are
enough for a kind that keeps to it.
Usage: time_cost.py FABRICBENCH [KIND…] [--rounds N] [--most RATIO]
"""
import argparse
import os
import pathlib
import subprocess
import sys

PROGRAM = pathlib.Path(__file__).resolve().parent.parent / "tests" / "bench" / "time_cost.cu"
# Repetitions, for a few tenths of a second.
KINDS = {"copy": 60, "gather": 100, "atomics": 60, "reduction": 40, "gemm": 6, "all_reduce": 30}


def processor_time(tool, kind, repetitions, timed):
    """Seconds of all processes of one run."""
    words = [tool, "exec", "--platform", "b300x8", *([] if timed else ["--untimed"]), str(PROGRAM), "--", kind, str(repetitions)]
    before = os.times()
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    after = os.times()
    if done.returncode != 0:
        sys.exit(f"{kind}: {done.stdout}")
    return after.children_user + after.children_system - before.children_user - before.children_system


def seconds_by_way(tool, kind, rounds, most):
    """Seconds of the kernels alone, without the model of time and with it."""
    processor_time(tool, kind, 1, True)  # the program is kept from now on
    best = {}
    for number in range(rounds):
        for timed in (False, True):
            for repetitions in (1, 1 + KINDS[kind]):
                seconds = processor_time(tool, kind, repetitions, timed)
                best[timed, repetitions] = min(seconds, best.get((timed, repetitions), seconds))
        without, cost = (max(best[timed, 1 + KINDS[kind]] - best[timed, 1], 1e-3) for timed in (False, True))
        if number > 0 and cost <= most * without:
            break
    return without, cost


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--most", type=float, default=0, help="fail if a kind of kernel costs more")
    options = parser.parse_args()
    slow = []
    for kind in options.kinds or KINDS:
        without, cost = seconds_by_way(options.tool, kind, options.rounds, options.most)
        print(f"{kind:12} {without:6.2f} s without, {cost:6.2f} s with the model of time: {cost / without:.2f}", flush=True)
        if options.most and cost > options.most * without:
            slow.append(kind)
    if slow:
        sys.exit(f"more than {options.most}: {', '.join(slow)}")


if __name__ == "__main__":
    main()
