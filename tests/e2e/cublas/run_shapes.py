#!/usr/bin/env python3
"""Times of cuBLAS beside other work have the shape that sharing demands.

Usage: run_shapes.py FABRICBENCH
"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    run = subprocess.run([sys.argv[1], "exec", "--platform", "h100x8", "shapes.cu", "-lcublas", "-lnccl"],
                         capture_output=True, text=True, cwd=HERE, timeout=280, check=False)
    print(run.stdout + run.stderr)
    if run.returncode != 0:
        return 1
    t = {line.split()[0]: float(line.split()[1]) for line in run.stdout.splitlines()}
    shapes = {
        "products and a collective overlap": t["both"] < 0.95 * (t["products"] + t["all_reduce"]),
        "both are not faster than the slower one": t["both"] >= 0.999 * max(t["products"], t["all_reduce"]),
        "channels of a collective take multiprocessors from products":
            t["products_beside_all_reduce"] > 1.05 * t["products"],
        "five products take five times as long as one, less what is paid once":
            3.5 * t["product"] < t["products"] < 5.05 * t["product"],
        "a kernel on a few multiprocessors costs a second wave": t["product_beside_few"] > 1.3 * t["product"],
        "and a product does not wait for it": t["product_beside_few"] < 1.2 * t["spin_few"],
        "a kernel on all multiprocessors keeps a product waiting":
            t["product_behind_all"] > t["spin_all"] + 0.5 * t["product"],
        "vectors are bound by memory": 2 * (8 << 20) / 3.35e6 < t["scale"] < 4 * 2 * (8 << 20) / 3.35e6,
        "a factor on another device comes over the link": t["product_of_remote"] > 2 * t["product"],
    }
    wrong = [name for name, holds in shapes.items() if not holds]
    for name in wrong:
        print(f"FAIL: {name}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
