#!/usr/bin/env python3
"""Times of exported folders by events on a virtual node, beside those of `fabricbench dev times`: both measure the same call.

Usage: times.py FABRICBENCH [--most PERCENT] [--beyond COUNT] [--keep DIR] [PROBLEM…]      all problems where none is named
A folder runs what the judge extrapolates as a whole: such sizes are left out.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SECONDS = 1800


def call(*words, cwd=None, okay=(0,)):
    done = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode not in okay:
        raise RuntimeError(f"{words} ends with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def modelled(fabricbench, problem):
    """size → microseconds, of the reference or else of the baseline."""
    times = {}
    for row in call(fabricbench, "dev", "times", problem["name"], "--markdown").splitlines():
        cells = [cell.strip(" `*") for cell in row.split("|")[1:-1]]
        if len(cells) < 4 or cells[0] != problem["name"]:
            continue
        text = cells[3] if problem["has_expert"] else cells[2]
        if re.fullmatch(r"[\d.]+", text):
            times[cells[1]] = float(text)
    return times


def by_events(fabricbench, problem, folder, sizes):
    call(fabricbench, "export", problem["name"], "-o", folder)
    solution = "reference" if problem["has_expert"] else "baseline"
    call("make", "-C", folder, f"NVCC={fabricbench}-nvcc", "run", f"{solution}.so")
    world = max(problem["worlds"])
    call(fabricbench, "exec", "--platform", problem["platform"], "--ranks", world, "--virtual-clock", "./run", "--", "--iterations", 1,
         "--samples", 3, "--warm-up", 1, "--calls", 1, "--sizes", ",".join(sizes), f"{solution}.so", cwd=folder)
    rows = json.loads((Path(folder) / "results.json").read_text())["rows"]
    return {row["size"]: statistics.median(row["us"]) for row in rows}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fabricbench")
    parser.add_argument("--most", type=float, default=5)
    parser.add_argument("--beyond", type=int, default=0)
    parser.add_argument("--keep")
    parser.add_argument("names", nargs="*")
    o = parser.parse_intermixed_args()
    fabricbench, beyond, ratios = os.path.abspath(o.fabricbench), 0, []
    listed = json.loads(call(fabricbench, "list", "--json"))["problems"]
    for problem in listed:
        if o.names and problem["name"] not in o.names:
            continue
        whole = {size["name"] for size in json.loads(call(fabricbench, "show", problem["name"], "--json"))["sizes"]
                 if size["timed"] and not size.get("samples")}
        times = {size: us for size, us in modelled(fabricbench, problem).items() if size in whole}
        if not times:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            measured = by_events(fabricbench, problem, Path(o.keep or scratch) / problem["name"], times)
        for size, us in times.items():
            off = (measured[size] / us - 1) * 100
            ratios.append(measured[size] / us)
            far = abs(off) > o.most
            beyond += far
            print(f"{'FAR' if far else 'ok '} {problem['name']:32} {size:16} {measured[size]:10.1f} {us:10.1f} us {off:+6.1f} %", flush=True)
    if not ratios:
        sys.exit("nothing was compared")
    print(f"{len(ratios)} sizes, {beyond} beyond {o.most:g} %, median ratio {statistics.median(ratios):.3f}")
    return 1 if beyond > o.beyond or not all(0.9 < ratio < 1.1 for ratio in ratios) else 0


sys.exit(main())
