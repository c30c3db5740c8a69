#!/usr/bin/env python3
"""Fails when the engine is slower than promised: warp instructions per second on one core, best of three runs; and
products of tensor cores as a share of OpenBLAS's sgemm on one core in the same run, where OpenBLAS was there to build with.

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

# Shares of sgemm, for the engines of tensor cores that the CPU has.
PRODUCTS = {
    "mma_bf16/amx": 0.5,
    "mma_bf16/avx512": 0.25,
    "mma_bf16/avx2": 0.25,
    "wgmma_bf16/amx": 0.3,
    "wgmma_bf16/avx512": 0.25,
    "wgmma_bf16/avx2": 0.25,
}


def check_products(flops, factor):
    """The number of slow ones."""
    if "sgemm" not in flops:
        print("no sgemm in this build (libopenblas-dev): products of tensor cores are not compared")
        return 0
    print(f"      sgemm: {flops['sgemm'] / 1e9:.1f} GFLOP/s")
    slow = 0
    for name, promised in PRODUCTS.items():
        if name not in flops:
            print(f"      {name:28} not on this CPU")
            continue
        share = flops[name] / flops["sgemm"]
        good = share >= promised * factor
        slow += not good
        print(f"{'ok  ' if good else 'SLOW'}  {name:28} {flops[name] / 1e9:7.1f} GFLOP/s, {share:.2f} of sgemm (at least {promised * factor:.2f})")
    return slow


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--build", default="build/release")
    options.add_argument("--factor", type=float, default=1.0)
    o = options.parse_args()
    command = [f"{o.build}/tests/bench/fabricbench_bench", "--benchmark_format=json", "--benchmark_repetitions=3", "--benchmark_min_time=0.2"]
    runs = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["benchmarks"]
    best, rate, flops = {}, {}, {}
    for run in runs:
        if run["run_type"] != "iteration" or run.get("error_occurred"):
            continue
        name = run["run_name"]
        if "flop" in run:
            flops[name] = max(flops.get(name, 0), run["flop"])
            continue
        best[name] = max(best.get(name, 0), run.get("warp_instructions", 0) / 1e6)
        rate[name] = max(rate.get(name, 0), run.get("bytes_per_second", 0))
    slow = 0
    for name, promised in PROMISED.items():
        good = best[name] >= promised * o.factor
        slow += not good
        print(f"{'ok  ' if good else 'SLOW'}  {name:28} {best[name]:7.1f} M warp instructions/s (at least {promised * o.factor:.0f})")
    slow += check_products(flops, o.factor)
    print(f"copy16 moves {rate['copy16'] / 1e9:.2f} GB/s, {rate['copy16'] / rate['host_memcpy']:.2f} of memcpy in the same run")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
