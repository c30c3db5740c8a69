#!/usr/bin/env python3
"""How long a candidate takes to compile: the median over the catalogue, for one build of FabricBench or for several in one run.

Each problem's reference is judged quickly by each build in turn (`fabricbench dev bench --quick`), headers compiled ahead; the wall time of
the compilers counts, and for each problem the least of several rounds, because other load only adds. On a busy computer, run it with
`chrt --fifo 1`.
Usage: compile_time.py FABRICBENCH… [--rounds N] [--problems DIR] [--most SECONDS]
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def build_seconds(tool, problem, pack, cache):
    """Wall time of the compilers; None: this build does not know the problem."""
    done = subprocess.run([tool, "dev", "bench", "--quick", "--json", "--problems", pack, problem], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, env={**os.environ, "FABRICBENCH_CACHE": cache})
    if done.returncode != 0:
        return None
    return json.loads(done.stdout)["verdicts"][0]["wall_seconds"]["build"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tools", nargs="+", metavar="FABRICBENCH")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--problems", default=str(ROOT / "problems"))
    parser.add_argument("--most", type=float, default=0, help="fail if the median of a build is above")
    options = parser.parse_args()
    problems = sorted(p.parent.name for p in pathlib.Path(options.problems).glob("*/*/problem.toml"))
    best = [{} for _ in options.tools]
    with tempfile.TemporaryDirectory() as folder:
        caches = [os.path.join(folder, str(k)) for k in range(len(options.tools))]
        for tool, cache in zip(options.tools, caches):
            build_seconds(tool, problems[0], options.problems, cache)  # headers are compiled from now on
        for _ in range(options.rounds):
            for problem in problems:
                for tool, cache, found in zip(options.tools, caches, best):
                    seconds = build_seconds(tool, problem, options.problems, cache)
                    if seconds is not None:
                        found[problem] = min(seconds, found.get(problem, seconds))
    common = [p for p in problems if all(p in found for found in best)]
    if not common:
        sys.exit("no problem was judged by all builds")
    for problem in common:
        print(f"{problem:26}" + "".join(f" {found[problem]:6.2f}" for found in best))
    medians = [statistics.median(found[p] for p in common) for found in best]
    print(f"{'median of ' + str(len(common)):26}" + "".join(f" {m:6.2f}" for m in medians))
    if options.most and max(medians) > options.most:
        sys.exit(f"above {options.most} s")


if __name__ == "__main__":
    main()
