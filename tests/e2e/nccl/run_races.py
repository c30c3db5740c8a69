#!/usr/bin/env python3
"""Runs programs that touch buffers of collectives too early or too late, and their repaired forms.

A wrong one must be reported with the line of the call of NCCL and, where there is one, of the kernel; a repaired one must
be clean, under several schedules.

Usage: run_races.py FABRICBENCH [NUMBER]
"""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))

# By number of the wrong form: texts of the report.
CASES = {
    1: ["ncclAllReduce", "called at races.cu:", "fill", "reads"],
    3: ["ncclAllReduce", "called at races.cu:", "use", "writes"],
    5: ["ncclAllReduce", "called at races.cu:", "fill"],
    7: ["ncclAllReduce", "called at races.cu:", "fill"],
    9: ["ncclAllReduce", "called at races.cu:", "copy to host"],
    11: ["ncclAllReduce", "ncclBroadcast"],
    13: ["ncclSend", "called at races.cu:", "fill"],
    15: ["ncclAllReduce", "use"],
    17: ["fill", "use"],
    19: ["ncclPutSignal", "called at races.cu:", "use", "writes"],
    21: ["ncclPutSignal", "called at races.cu:", "fill", "reads"],
    23: ["ncclPutSignal", "called at races.cu:", "use"],
    25: ["ncclPutSignal", "called at races.cu:", "use"],
}
SEEDS = ["0", "1", "2"]


def run(tool, number, seed, environment):
    command = [tool, "exec", "--check", "--seed", seed, "--ranks", "2", "races.cu", "-lnccl", "--", str(number)]
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
                code, text = run(tool, wrong, seed, environment)
                missing = [s for s in ["race: "] + says if s not in text]
                if missing or code == 0:
                    failures += 1
                    print(f"FAIL {wrong}, seed {seed}: missing {missing}\n{text}")
                code, text = run(tool, wrong - 1, seed, environment)
                if code != 0 or "race: " in text:
                    failures += 1
                    print(f"FAIL {wrong - 1}, seed {seed}: a repaired form is not clean\n{text}")
    print(f"{failures} failures")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
