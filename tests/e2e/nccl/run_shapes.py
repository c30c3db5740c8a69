#!/usr/bin/env python3
"""Times of collectives beside other work have the shape that sharing demands.

Usage: run_shapes.py FABRICBENCH
"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    run = subprocess.run([sys.argv[1], "exec", "--platform", "h100x8", "shapes.cu", "-lnccl"], capture_output=True,
                         text=True, cwd=HERE, timeout=280, check=False)
    print(run.stdout + run.stderr)
    if run.returncode != 0:
        return 1
    t = {line.split()[0]: float(line.split()[1]) for line in run.stdout.splitlines()}
    shapes = {
        "a collective is slower beside copies": t["all_reduce_beside_copies"] > 1.05 * t["all_reduce"],
        "copies are slower beside a collective": t["copies_beside_all_reduce"] > 1.1 * t["copies"],
        "both together take less than one after the other": t["copies_beside_all_reduce"] < t["copies"] + t["all_reduce"],
        "a kernel on all multiprocessors keeps a collective waiting":
            t["all_reduce_behind_spin"] > t["spin"] + 0.6 * t["all_reduce"],
        "small ones take tens of microseconds": 10 < t["all_reduce_small"] < 100,
        "calls of a group pay the start once": t["ten_in_a_group"] < 0.4 * t["ten_alone"],
    }
    wrong = [name for name, holds in shapes.items() if not holds]
    for name in wrong:
        print(f"FAIL: {name}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
