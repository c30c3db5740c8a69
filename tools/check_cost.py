#!/usr/bin/env python3
"""The cost of race detection: processor time and memory of the machine with the detector and without.

Each problem's reference is judged in the same drawn schedules both ways, with its timed sizes, which are the large ones (of those
that are extrapolated, the least sample: here all accesses are checked, in a verdict those to one piece of memory in 16). Only the
machine's process is measured, and only in these schedules: compilers, sandboxes and the starts of ranks take longer than small
kernels and would hide the cost of the detector. The two ways alternate, and the minimum of each counts, because other load only adds.
Usage: check_cost.py FABRICBENCH [PROBLEM…] [--schedules N] [--repetitions N] [--most RATIO] [--most-of-all RATIO]
"""
import argparse
import math
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Replaces the machine: runs it, and logs its user plus system seconds and its peak KiB.
WRAPPER = """#!{python}
import json, os, sys
with open(sys.argv[sys.argv.index("--options") + 1]) as file:
    options = json.load(file)
child = os.fork()
if child == 0:
    os.execv({machine!r}, [{machine!r}, *sys.argv[1:]])
status, used = os.wait4(child, 0)[1:]
if int(options["seed"]) != 0:
    with open({log!r}, "a") as file:
        file.write(f"{{used.ru_utime + used.ru_stime}} {{used.ru_maxrss}} {{int(options['check'])}}\\n")
os._exit(os.waitstatus_to_exitcode(status) & 255)
"""


def first_sample(block):
    """A size that is extrapolated becomes the least of those that are run for it."""
    dimension, samples = re.search(r'(?m)^scale = "(\w+)"$', block), re.search(r"(?m)^samples = \[(\d+)", block)
    if not samples:
        return block
    block = re.sub(r"(?m)^(scale|samples) = .*\n", "", block)
    return re.sub(rf"(?m)^{dimension[1]} = .*$", f"{dimension[1]} = {samples[1]}", block)


def large_sizes(text):
    """Makes the timed sizes the only ones of a quick check; if none is timed, the last one."""
    blocks = re.split(r"(?m)^(?=\[)", text)
    sizes = [k for k, block in enumerate(blocks) if block.startswith("[[size]]")]
    timed = [k for k in sizes if re.search(r"(?m)^timed = true$", blocks[k])] or sizes[-1:]
    for k in sizes:
        blocks[k] = re.sub(r"(?m)^quick = true\n", "", blocks[k])
        if k in timed:
            blocks[k] = first_sample(blocks[k].rstrip() + "\nquick = true\n\n")
    return "".join(blocks)


class Measure:
    def __init__(self, tool, folder):
        self.tool, self.folder = tool, pathlib.Path(folder)
        self.log = self.folder / "log"
        programs = pathlib.Path(tool).resolve().parent
        wrapper, machine = self.folder / "machine", str(programs / "fabricbench-machine")
        (self.folder / "fabricbench-rank").symlink_to(programs / "fabricbench-rank")  # looked for beside the machine
        wrapper.write_text(WRAPPER.format(python=sys.executable, machine=machine, log=str(self.log)), encoding="utf-8")
        wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
        self.environment = {**os.environ, "FABRICBENCH_MACHINE": str(wrapper)}

    def pack_of(self, problem):
        pack = self.folder / "problems"
        shutil.rmtree(pack, ignore_errors=True)
        target = pack / problem.relative_to(ROOT / "problems")
        shutil.copytree(problem, target)
        for shared in problem.parent.glob("*.h"):
            shutil.copy(shared, target.parent)
        shutil.copy(ROOT / "problems" / "pack.toml", pack)
        settings = target / "problem.toml"
        settings.write_text(large_sizes(settings.read_text(encoding="utf-8")), encoding="utf-8")
        return pack

    def run(self, problem, pack, schedules, races):
        """Seconds of all drawn schedules, and MiB of the largest."""
        self.log.unlink(missing_ok=True)
        words = [self.tool, "check", "--quick", "--no-reference", "--unsafe-no-sandbox", "--seed", "3", "--schedules", str(schedules),
                 "--problems", str(pack), problem.name, str(problem / "reference.cu")]
        if not races:
            words.insert(2, "--no-races")
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True, env=self.environment)
        if done.returncode != 0:
            sys.exit(f"{problem.name}: {done.stdout}")
        rows = [line.split() for line in self.log.read_text(encoding="utf-8").splitlines()]
        # A figure of other runs than those requested would look just as plausible.
        if len(rows) != schedules or any(int(row[2]) != int(races) for row in rows):
            sys.exit(f"{problem.name}: {len(rows)} schedules {'with' if races else 'without'} the detector were seen, not {schedules}")
        return sum(float(row[0]) for row in rows), max(int(row[1]) for row in rows) / 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("problems", nargs="*")
    parser.add_argument("--schedules", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--most", type=float, default=0, help="fail if a named problem costs more")
    parser.add_argument("--most-of-all", type=float, default=0, help="fail if the geometric mean is more")
    options = parser.parse_args()
    folders = sorted(p.parent for p in ROOT.glob("problems/*/*/*/reference.cu"))
    if options.problems:
        folders = [p for p in folders if p.name in options.problems]
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        measure = Measure(options.tool, folder)
        for problem in folders:
            pack = measure.pack_of(problem)
            runs = [[measure.run(problem, pack, options.schedules, races) for races in (False, True)] for _ in range(options.repetitions)]
            plain, checked = (min(run[way] for run in runs) for way in (0, 1))
            ratios.append((checked[0] / plain[0], problem.name))
            print(f"{problem.name:24} {plain[0]:7.2f} s {plain[1]:6.0f} MiB without, {checked[0]:7.2f} s {checked[1]:6.0f} MiB with: "
                  f"{ratios[-1][0]:.2f}", flush=True)
    mean = math.exp(sum(math.log(r) for r, _ in ratios) / len(ratios))
    print(f"geometric mean of {len(ratios)}: {mean:.2f}; most: {max(ratios)[0]:.2f} ({max(ratios)[1]})")
    if options.most and max(ratios)[0] > options.most:
        sys.exit(f"more than {options.most}")
    if options.most_of_all and mean > options.most_of_all:
        sys.exit(f"more than {options.most_of_all} in the mean")


if __name__ == "__main__":
    main()
