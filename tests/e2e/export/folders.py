#!/usr/bin/env python3
"""Problems as `fabricbench export` writes them, built by fabricbench-nvcc and run on the virtual node: reference, baseline and
alternative are right at the quick sizes, the empty template is not.

Usage: folders.py FABRICBENCH [--nvcc NVCC] [--keep DIR] [PROBLEM…]      all problems where none is named
--nvcc: compile by another compiler, and do not run
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SECONDS = 600


def problems(fabricbench, names):
    listed = json.loads(subprocess.run([fabricbench, "list", "--json"], capture_output=True, text=True, check=True).stdout)
    known = {problem["name"]: problem for problem in listed["problems"]}
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"there is no problem {' '.join(unknown)}")
    return [known[name] for name in names or known]


def complaints(fabricbench, problem, folder, nvcc):
    name = problem["name"]
    subprocess.run([fabricbench, "export", name, "-o", folder], check=True, stdout=subprocess.DEVNULL)
    built = subprocess.run(["make", "-C", folder, f"NVCC={nvcc or fabricbench + '-nvcc'}"], capture_output=True, text=True, timeout=SECONDS,
                           check=False)
    if built.returncode != 0:
        return [f"does not build:\n{built.stdout[-1500:]}{built.stderr[-3000:]}"]
    if nvcc:
        return []
    known = ["reference"] * problem["has_expert"] + ["baseline"] * problem["has_baseline"]
    known += ["alternative"] * (Path(folder) / "alternative.so").exists()
    code, output = run(fabricbench, problem, folder, known)
    if code != 0:
        return [f"ends with {code}:\n{output}"]
    rows = json.loads((Path(folder) / "results.json").read_text())["rows"]
    missing = set(known) - {row["solution"] for row in rows if row["right"]}
    found = [f"no right row of {' '.join(sorted(missing))}:\n{output}"] if missing else []
    code, output = run(fabricbench, problem, folder, ["solution"])
    if code == 0:
        found.append(f"the template is right:\n{output}")
    return found


def run(fabricbench, problem, folder, solutions):
    ran = subprocess.run([fabricbench, "exec", "--platform", problem["platform"], "--ranks", str(problem["worlds"][0]), "./run", "--",
                          "--quick", *[f"{name}.so" for name in solutions]],
                         cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    return ran.returncode, (ran.stdout + ran.stderr)[-4000:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fabricbench")
    parser.add_argument("--nvcc")
    parser.add_argument("--keep")
    parser.add_argument("names", nargs="*")
    o = parser.parse_intermixed_args()
    fabricbench, failed = os.path.abspath(o.fabricbench), 0
    for problem in problems(fabricbench, o.names):
        with tempfile.TemporaryDirectory() as scratch:
            folder = str(Path(o.keep or scratch).resolve() / problem["name"])
            begin = time.monotonic()
            found = complaints(fabricbench, problem, folder, o.nvcc)
            print(f"{'FAILED' if found else 'ok    '} {problem['name']} {time.monotonic() - begin:.1f} s", flush=True)
            for text in found:
                print(text, flush=True)
            failed += bool(found)
    print(f"{failed} failed")
    return 1 if failed else 0


sys.exit(main())
