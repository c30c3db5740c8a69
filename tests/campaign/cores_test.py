#!/usr/bin/env python3
"""Judging uses two cores: twice the workers make almost twice the verdicts.

Measured in one run, in turns: the same judgements with one worker on one core, and with two workers on two. Usage:
cores_test.py FABRICBENCH [--least RATIO]
"""
import argparse
import os
import pathlib
import subprocess
import time

import harness

PROBLEM = "all_reduce_two_shot"
ATTEMPTS = 6


def campaign(tool, folder, jobs, cores):
    """Seconds for all judgements; each is made anew."""
    words = [tool, "run", "--plain", "--model", f"recorded:{folder / 'answers'},label=m", "--problems", PROBLEM, "--samples", str(ATTEMPTS), "--jobs",
             str(jobs), "--no-cache", "--seed", "5", "--out", str(folder / f"run{time.monotonic_ns()}")]
    begin = time.monotonic()
    subprocess.run(words, check=True, env=harness.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                   preexec_fn=lambda: os.sched_setaffinity(0, cores))
    return time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--least", type=float, default=1.8)
    options = parser.parse_args()
    checks = harness.Checks()
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        print("this machine has one core: nothing to measure")
        return
    reference = next(pathlib.Path(__file__).parents[2].glob(f"problems/*/{PROBLEM}/reference.cu")).read_text()
    with harness.folder() as folder:
        (folder / "answers").mkdir()
        (folder / "answers" / f"{PROBLEM}.md").write_text(reference)
        campaign(options.tool, folder, 2, cores)  # builds, oracles and references are kept from now on
        ratios = []
        for _ in range(3):
            one = campaign(options.tool, folder, 1, cores[:1])
            two = campaign(options.tool, folder, 2, cores)
            ratios.append(one / two)
            print(f"one core {one:.2f} s, two {two:.2f} s: {one / two:.2f}", flush=True)
            if one / two >= options.least:
                break  # others on the machine can only make it less
        checks.that(max(ratios) >= options.least, f"{max(ratios):.2f} times as fast, not {options.least}")
    checks.close()


if __name__ == "__main__":
    main()
