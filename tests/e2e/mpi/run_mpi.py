#!/usr/bin/env python3
"""Runs device_pointers.cu under --mpi: on 4 ranks, under the race detector, and with a datatype that is refused.

Usage: run_mpi.py FABRICBENCH ranks|check|gaps
"""
import pathlib
import subprocess
import sys

OPTIONS = {
    "ranks": (["--ranks", "4"], []),
    "check": (["--ranks", "2", "--check", "--seed", "1"], []),
    "gaps": (["--ranks", "2"], ["gaps"]),
}


def main():
    tool, case = sys.argv[1:3]
    source = pathlib.Path(__file__).resolve().parent / "device_pointers.cu"
    options, arguments = OPTIONS[case]
    command = [tool, "exec", "--mpi", "--platform", "h100x8", *options, str(source), "--", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=300)
    print(run.stdout, run.stderr, sep="", end="")
    if case == "gaps":
        if run.returncode == 0 or "MPI_Bcast with device memory: a datatype with gaps" not in run.stderr:
            sys.exit("a datatype with gaps is not refused by name")
    elif run.returncode != 0 or "OK" not in run.stdout:
        sys.exit(f"exit code {run.returncode}")


main()
