#!/usr/bin/env python3
"""Random programs of collectives, groups, streams and communicators, compared with an oracle and checked for races.

Usage: run_stress.py FABRICBENCH [--ranks N] [--programs N] [--first SEED]
Without --ranks, programs are spread over 2 to 8 ranks.
"""
import argparse
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MOST_OF_RUN = 500  # programs of one process


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--ranks", type=int, default=0)
    parser.add_argument("--programs", type=int, default=60)
    parser.add_argument("--first", type=int, default=1)
    options = parser.parse_args()
    done, seed = 0, options.first - 1
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, TMPDIR=folder)
        while done < options.programs:
            seed += 1
            programs = min(MOST_OF_RUN, options.programs - done)
            ranks = options.ranks or 2 + seed % 7
            # Every second run is one schedule of the race checker.
            check = ["--check", "--seed", str(seed)] if seed % 2 == 1 else []
            command = [options.tool, "exec", *check, "--ranks", str(ranks), "stress.cu", "-lnccl", "--", str(programs),
                       str(seed)]
            run = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=HERE, timeout=3000,
                                 check=False)
            text = run.stdout + run.stderr
            if run.returncode != 0 or f"{programs} programs" not in text or "race: " in text:
                print(f"FAIL: {' '.join(command)}\n{text}")
                return 1
            done += programs
    print(f"{done} programs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
