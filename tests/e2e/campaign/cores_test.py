#!/usr/bin/env python3
"""Judging uses two cores: twice the workers make almost twice the verdicts.

Measured in one run, in turns: the same judgements with one worker on one core, and with two workers on two. A machine whose
two cores share what both need (a bus, a cache, a host's processor) has less than twice of one to give: where the promise is
missed, that is measured too, by two campaigns side by side that have a core each and nothing to do with each other. Usage:
cores_test.py FABRICBENCH [--least RATIO]
"""
import argparse
import os
import pathlib
import subprocess
import time

import harness

PROBLEM = "all_reduce_two_shot"
ATTEMPTS = 8
TURNS = 3


class Judging:
    """Campaigns that make all judgements anew, of one answer."""

    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder
        reference = next(pathlib.Path(__file__).parents[3].glob(f"problems/*/*/{PROBLEM}/reference.cu")).read_text()
        (folder / "answers").mkdir()
        (folder / "answers" / f"{PROBLEM}.md").write_text(reference)

    def start(self, jobs, cores):
        words = [self.tool, "run", "--plain", "--model", f"recorded:{self.folder / 'answers'},label=m", PROBLEM,
                 "--samples", str(ATTEMPTS), "--jobs", str(jobs), "--no-cache", "--seed", "5", "--out",
                 str(self.folder / f"run{time.monotonic_ns()}")]
        return subprocess.Popen(words, env=harness.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                preexec_fn=lambda: os.sched_setaffinity(0, cores))

    def seconds(self, *campaigns):
        """Until all of these, each (jobs, cores), have ended that begin together."""
        begin = time.monotonic()
        running = [self.start(*campaign) for campaign in campaigns]
        for process in running:
            _, errors = process.communicate()
            assert process.returncode == 0, errors.decode()
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
    with harness.folder() as folder:
        judging = Judging(options.tool, folder)
        judging.seconds((2, cores))  # builds, oracles and references are kept from now on
        # Others on the machine can only add to a time: the shortest of all turns counts.
        one = two = apart = float("inf")
        for _ in range(TURNS):
            one = min(one, judging.seconds((1, cores[:1])))
            two = min(two, judging.seconds((2, cores)))
            print(f"one worker {one:.2f} s, two {two:.2f} s: {one / two:.2f} times as fast", flush=True)
            least = options.least
            if one / two >= least:
                break
            apart = min(apart, judging.seconds((1, cores[:1]), (1, cores[1:])))
            machine = 2 * one / apart
            least *= min(1, machine / 2)
            print(f"two campaigns apart {apart:.2f} s: the machine gives {machine:.2f} times one core, so {least:.2f} is asked", flush=True)
            if one / two >= least:
                break
        checks.that(one / two >= least, f"{one / two:.2f} times as fast, not {least:.2f}")
    checks.close()


if __name__ == "__main__":
    main()
