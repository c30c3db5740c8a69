#!/usr/bin/env python3
"""What `fabricbench dev sensitivity` and `dev sampling` measure of all references, for a part of the problems.

Usage: over_problems.py FABRICBENCH sensitivity|sampling PART LAST_PART PROBLEM…
                                                every (LAST_PART + 1)-th problem from PART on

Of all problems together, nine differences in ten of `sensitivity` are within three points; a part is small, so seven in
ten must be, or all but three. `sampling` extrapolates each size to within 8 %.
"""
import re
import subprocess
import sys

OPTIONS = {"sensitivity": [], "sampling": ["--most-median", "8"]}
NOTHING_TO_COMPARE = {"sensitivity": "no time is smooth enough", "sampling": "no size is extrapolated"}


def main():
    fabricbench, command, part, last, *problems = sys.argv[1:]
    mine = problems[int(part)::int(last) + 1]
    compared = apart = 0
    failed = []
    for problem in mine:
        done = subprocess.run([fabricbench, "dev", command, *OPTIONS[command], problem], capture_output=True, text=True,
                              check=False)
        if done.returncode not in (0, 1) and NOTHING_TO_COMPARE[command] not in done.stderr:
            sys.exit(f"{problem}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        if command == "sampling" and done.returncode == 1:
            failed.append(problem)
        for line in done.stdout.splitlines()[1:]:
            pairs = re.findall(r"-?\d+\.\d +-?\d+\.\d ([ !])", line)
            if command == "sensitivity" and not line.endswith("not smooth"):
                compared += len(pairs)
                apart += pairs.count("!")
            print(line)
    print(f"{len(mine)} problems; {compared} differences, {apart} beyond three points; beyond 8 %: {' '.join(failed) or 'none'}")
    return 1 if failed or apart > max(3, 0.3 * compared) else 0


sys.exit(main())
