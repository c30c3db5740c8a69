#!/usr/bin/env python3
"""Builds project/ with CMake, by fabricbench-nvcc or by nvcc, and runs its programs on the virtual node.

usage: run_project.py FABRICBENCH fabricbench|nvcc"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).parent / "project"
SKIPPED = 77
SINGLE = "sum 120.00\none 15.00\nweighed 11 times, 8 GPUs\n"
MANY = "sum of all ranks 1600.00\n"


def run(command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=500, **options)
    if done.returncode != 0:
        print(f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        sys.exit(1)
    return done


def compiler(tool, which):
    if which == "fabricbench":
        return Path(tool).parent / "fabricbench-nvcc"
    found = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not Path(found).exists():
        print("nvcc not found")
        sys.exit(SKIPPED)
    return Path(found)


def main():
    tool, which = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as scratch:
        # Real architectures would make machine code; the node runs PTX.
        flags = ["-DCMAKE_CUDA_ARCHITECTURES=90-virtual", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CUDA_RUNTIME_LIBRARY=Shared"]
        environment = {k: v for k, v in os.environ.items() if k not in ("CUDACXX", "CUDAHOSTCXX", "CUDAARCHS")}
        run(["cmake", "-G", "Ninja", "-S", PROJECT, "-B", scratch, f"-DCMAKE_CUDA_COMPILER={compiler(tool, which)}", *flags],
            env=environment)
        run(["cmake", "--build", scratch], env=environment)
        single = run([tool, "exec", f"{scratch}/single"]).stdout
        if single != SINGLE:
            sys.exit(f"single printed:\n{single}")
        if (Path(scratch) / "many").exists():
            many = run([tool, "exec", "--ranks", "4", "--mpi", f"{scratch}/many"]).stdout
            if many != MANY:
                sys.exit(f"many printed:\n{many}")
    print("ok")


main()
