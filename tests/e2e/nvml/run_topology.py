#!/usr/bin/env python3
"""Runs topology.cu on a platform and compares what it prints with golden/PLATFORM.txt.

Usage: run_topology.py FABRICBENCH PLATFORM
FABRICBENCH_APPROVE=1 writes the file instead.
"""
import os
import pathlib
import subprocess
import sys


def main():
    tool, platform = sys.argv[1:3]
    folder = pathlib.Path(__file__).resolve().parent
    command = [tool, "exec", "--platform", platform, str(folder / "topology.cu"), "-lnvidia-ml"]
    run = subprocess.run(command, capture_output=True, text=True, errors="replace")
    sys.stderr.write(run.stderr)
    if run.returncode != 0:
        sys.exit(f"exit code {run.returncode}\n{run.stdout}")
    golden = folder / "golden" / f"{platform}.txt"
    if os.environ.get("FABRICBENCH_APPROVE"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(run.stdout)
        return
    if run.stdout != golden.read_text():
        sys.exit(f"differs from {golden}:\n{run.stdout}")


main()
