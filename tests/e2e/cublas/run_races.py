#!/usr/bin/env python3
"""Runs programs that touch operands of cuBLAS too early or too late, their repaired forms, and operands that fault.

A wrong one must be reported with the line of the call of cuBLAS and, where there is one, of the kernel; a repaired one
must be clean, under several schedules.

Usage: run_races.py FABRICBENCH [NUMBER]
"""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))

# By number of the wrong form: texts of the report.
CASES = {
    1: ["cublasSgemm of 64x64x64 f32", "called at races.cu:", "fill", "reads"],
    3: ["cublasSgemm", "called at races.cu:", "use", "writes"],
    5: ["cublasSgemm", "called at races.cu:", "fill"],
    7: ["cublasSgemm", "called at races.cu:", "fill", "reads"],
    9: ["cublasSgemm", "fill", "write/write"],
    11: ["cublasSaxpy of 64 f32", "called at races.cu:", "copy to host"],
    13: ["cublasSgemm", "write/write"],
    15: ["cublasSgemm", "fill"],
}
FAULTS = {
    100: ["cublasSgemm of 4x4x4 f32", "races.cu:", "A (", "is no memory of device 0"],
    101: ["cublasSgemm", "races.cu:", "goes 256 bytes beyond the end of cudaMalloc #"],
    102: ["cublasSaxpy", "x (", "goes 4 bytes beyond the end of cudaMalloc #"],
}
SEEDS = ["0", "1"]


def run(tool, number, options, environment):
    command = [tool, "exec", *options, "races.cu", "-lcublas", "-lcublasLt", "--", str(number)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=HERE, timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


def main():
    tool, only = sys.argv[1], [int(n) for n in sys.argv[2:]]
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, TMPDIR=folder)
        for wrong, says in CASES.items():
            if only and wrong not in only:
                continue
            for seed in SEEDS:
                options = ["--check", "--seed", seed]
                code, text = run(tool, wrong, options, environment)
                missing = [s for s in ["race: "] + says if s not in text]
                if missing or code == 0:
                    failures += 1
                    print(f"FAIL {wrong}, seed {seed}: missing {missing}\n{text}")
                code, text = run(tool, wrong - 1, options, environment)
                if code != 0 or "race: " in text:
                    failures += 1
                    print(f"FAIL {wrong - 1}, seed {seed}: a repaired form is not clean\n{text}")
        for number, says in FAULTS.items():
            if only and number not in only:
                continue
            _, text = run(tool, number, [], environment)
            missing = [s for s in ["cudaErrorIllegalAddress, then CUBLAS_STATUS_EXECUTION_FAILED"] + says if s not in text]
            if missing:
                failures += 1
                print(f"FAIL {number}: missing {missing}\n{text}")
    print(f"{failures} failures")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
