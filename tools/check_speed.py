#!/usr/bin/env python3
"""Fails when the engine is slower than promised: warp instructions per second on one core, best of three runs.

  tools/check_speed.py [--build build/release] [--factor 1.0]

The promise is for a quiet machine; --factor 0.3 asks for three tenths of it (CI's machines are shared)."""

import argparse
import json
import subprocess
import sys

PROMISED = {  # millions a second
    "arithmetic": 100,
    "copy16": 40,
    "shared_reduction": 40,
    "copy16_observed": 10,
    "shared_reduction_observed": 10,
}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--build", default="build/release")
    options.add_argument("--factor", type=float, default=1.0)
    o = options.parse_args()
    command = [f"{o.build}/bench/fabricbench_bench", "--benchmark_format=json", "--benchmark_repetitions=3", "--benchmark_min_time=0.2"]
    runs = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["benchmarks"]
    best, rate = {}, {}
    for run in runs:
        if run["run_type"] != "iteration":
            continue
        name = run["run_name"]
        best[name] = max(best.get(name, 0), run.get("warp_instructions", 0) / 1e6)
        rate[name] = max(rate.get(name, 0), run.get("bytes_per_second", 0))
    slow = 0
    for name, promised in PROMISED.items():
        good = best[name] >= promised * o.factor
        slow += not good
        print(f"{'ok  ' if good else 'SLOW'}  {name:28} {best[name]:7.1f} M warp instructions/s (at least {promised * o.factor:.0f})")
    print(f"copy16 moves {rate['copy16'] / 1e9:.2f} GB/s, {rate['copy16'] / rate['host_memcpy']:.2f} of memcpy in the same run")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
