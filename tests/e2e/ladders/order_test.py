#!/usr/bin/env python3
"""A ladder of kernels is as fast as public work logs say: each step faster than the one before, the first and the last
within stated shares of the chip's peak.

usage: order_test.py FABRICBENCH LADDER.cu FIRST_AT_MOST LAST_AT_LEAST LAST_AT_MOST    (per cent of the peak)
"""

import re
import subprocess
import sys

ALIKE = 0.98  # two steps that memory bounds are equally fast


def main() -> int:
    fabricbench, ladder = sys.argv[1:3]
    first_at_most, last_at_least, last_at_most = (float(word) for word in sys.argv[3:6])
    command = [fabricbench, "exec", "--platform", "h100x8", "-arch", "sm_90a", ladder, "-lcuda"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=900)
    print(run.stdout, run.stderr)
    if run.returncode != 0:
        return 1
    steps = [(name, float(share)) for name, share in re.findall(r"^(\S+) .* ([0-9.]+) %$", run.stdout, re.MULTILINE)]
    problems = [] if len(steps) >= 3 else [f"{len(steps)} steps are too few"]
    for (name, share), (after, more) in zip(steps, steps[1:]):
        if more < ALIKE * share:
            problems.append(f"{after} ({more} %) is slower than {name} ({share} %)")
    if steps and steps[0][1] > first_at_most:
        problems.append(f"{steps[0][0]} reaches {steps[0][1]} %, more than {first_at_most} %")
    if steps and not last_at_least <= steps[-1][1] <= last_at_most:
        problems.append(f"{steps[-1][0]} reaches {steps[-1][1]} %, not {last_at_least} to {last_at_most} %")
    for problem in problems:
        print(f"order_test: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
