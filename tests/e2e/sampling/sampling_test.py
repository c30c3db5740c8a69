#!/usr/bin/env python3
"""Programs whose time is no line over the size: nothing is extrapolated, or the true time is inside the interval.

Usage: sampling_test.py FABRICBENCH SHAPE      a function of not_linear.cu, "line": must be extrapolated
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROBLEM = os.path.join(HERE, "..", "..", "..", "problems", "comm", "p2p", "peer_copy")
LARGE = 8 << 20
SAMPLES = [1 << 20, 9 << 18, 3 << 20]


def write_problem(folder, sampled):
    """peer_copy with one timed size, sampled or run itself, and kernels allowed: they sleep."""
    shutil.copytree(PROBLEM, folder)
    path = os.path.join(folder, "problem.toml")
    with open(path) as file:
        text = re.sub(r"forbid_in_run = .*\n", "", file.read())
    sizes = re.split(r"(?=\[\[size\]\]\n)", text[:text.index("[[tensor]]")])
    kept = [size for size in sizes if "timed = true" not in size]
    timed = f'[[size]]\nname = "large"\nn = {LARGE}\nfirst = 64\ntimed = true\n'
    if sampled:
        timed += f'scale = "n"\nsamples = {SAMPLES}\n'
    with open(path, "w") as file:
        file.write("".join(kept) + timed + "\n" + text[text.index("[[tensor]]"):])


def time(tool, folder, answer):
    done = subprocess.run([tool, "check", "--json", "--no-reference", "--seed", "3", folder, answer],
                          capture_output=True, text=True, timeout=300)
    verdict = json.loads(done.stdout)
    assert "class" in verdict, done.stdout + done.stderr
    assert verdict["class"] == "pass", verdict["summary"] + verdict["explanation"]
    (timing,) = [timing for timing in verdict["timings"] if timing["size"] == "large"]
    return timing


def main():
    tool, shape = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as scratch:
        with open(os.path.join(HERE, "not_linear.cu")) as file:
            code = file.read().replace("SHAPE(", shape + "(")
        answer = os.path.join(scratch, "answer.cu")
        with open(answer, "w") as file:
            file.write(code)
        found = {}
        for sampled in (True, False):
            pack = os.path.join(scratch, "sampled" if sampled else "whole")
            folder = os.path.join(pack, "comm", "p2p", "peer_copy")
            write_problem(folder, sampled)
            shutil.copy(os.path.join(PROBLEM, "..", "..", "..", "pack.toml"), pack)
            found[sampled] = time(tool, folder, answer)
    line, whole = found[True], found[False]
    print(f"whole: {whole['seconds'] * 1e6:.2f} us; samples: {line['samples']}")
    if line["refusal"]:
        print("refused:", line["refusal"])
        assert shape not in ("line", "fine_tiles"), "it is a line"
        return
    print(f"extrapolated: {line['seconds'] * 1e6:.2f} us, {line['line_range']}")
    low, high = line["line_range"]["low"], line["line_range"]["high"]
    rounding = 1e-3 * whole["seconds"]
    assert low - rounding <= whole["seconds"] <= high + rounding, "outside its interval"


main()
