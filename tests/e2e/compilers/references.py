#!/usr/bin/env python3
"""References and baselines of the catalogue by clang and by NVIDIA's nvcc: their modelled times beside each other.

Usage: references.py FABRICBENCH [--table FILE] [PROBLEM…]     no problem: all

FABRICBENCH_CUDA, PATH or build/nvcc must lead to nvcc. Exit code 1: a time outside 0.8 to 1.25 without a reason below, or,
of all problems, fewer times within these bounds than LEAST.
"""
import argparse
import subprocess
import sys
from pathlib import Path

import nvcc_place

SECONDS = 1200
SKIPPED = 77
LEAST = 95  # per cent
# Problem → what makes the difference.
OUTSIDE = {}


def times(fabricbench, compiler, problem):
    """(problem, size, what) → (microseconds, whether it is that of the largest sample)."""
    done = subprocess.run([fabricbench, "dev", "times", "--markdown", "--device-compiler", compiler, problem], capture_output=True,
                          text=True, timeout=SECONDS, check=False)
    if done.returncode != 0:
        sys.exit(f"{problem} by {compiler}: {done.stdout[-500:]}{done.stderr[-1500:]}")
    found = {}
    for line in done.stdout.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) < 8 or not cells[0].startswith("`"):
            continue
        for what, value in (("baseline", cells[2]), ("reference", cells[3])):
            if value != "-":
                found[cells[0].strip("`"), cells[1], what] = float(value), cells[7].startswith("largest sample")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fabricbench")
    parser.add_argument("--table", type=Path)
    parser.add_argument("problems", nargs="*")
    options = parser.parse_intermixed_args()
    if not nvcc_place.find():
        return SKIPPED
    problems = options.problems or ["*"]
    ratios, failures = {}, []
    for problem in problems:
        ours, theirs = (times(options.fabricbench, compiler, problem) for compiler in ("clang", "nvcc"))
        for key in ours:
            # A size that is extrapolated is not comparable with its largest sample.
            if key in theirs and ours[key][1] == theirs[key][1]:
                ratios[key] = ours[key][0] / theirs[key][0]
    text = "| problem | size | | clang ÷ nvcc |\n|---|---|---|---|\n"
    text += "".join(f"| `{name}` | {size} | {what} | {ratio:.2f} |\n" for (name, size, what), ratio in sorted(ratios.items()))
    print(text)
    outside = {key: ratio for key, ratio in ratios.items() if not 0.8 <= ratio <= 1.25}
    for (name, size, what), ratio in outside.items():
        if name not in OUTSIDE:
            failures.append(f"{name}, {size}, {what}: {ratio:.2f} of nvcc's time, and no reason in OUTSIDE")
    share = 100 * (1 - len(outside) / max(1, len(ratios)))
    print(f"{len(ratios) - len(outside)} of {len(ratios)} times within 0.8 to 1.25 ({share:.0f} %)")
    if not options.problems and share < LEAST:
        failures.append(f"at least {LEAST} % are expected")
    if options.table:
        options.table.write_text(text)
    print("\n".join(failures))
    return 1 if failures or not ratios else 0


sys.exit(main())
