#!/usr/bin/env python3
"""Runs programs that hang in NCCL and checks the cause that the machine names, and that it does so within 2 s.

Usage: run_hangs.py FABRICBENCH [NUMBER]
"""
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = 2.0
ATTEMPTS = 3  # a computer that does other things meanwhile is slow now and then, and not three times in a row

MATCH = "calls of a collective do not match"
MISSING = "a rank does not call the collective"
MESSAGES = "messages wait for each other"
ORDER = "communicators in different order"

# (number of the program, ranks, cause, texts that the explanation contains)
CASES = [
    (0, 2, MATCH, ["different calls", "rank 0 calls ncclAllReduce", "rank 1 calls ncclBroadcast", "hangs.cu:"]),
    (1, 2, MATCH, ["different counts", "4096", "2048"]),
    (2, 2, MATCH, ["different types", "f32", "i32"]),
    (3, 2, MATCH, ["different operations", "(sum)", "(max)"]),
    (4, 2, MATCH, ["different roots", "root 0", "root 1"]),
    (5, 3, MISSING, ["issued 0 collectives"]),
    (6, 3, MISSING, ["collective 3", "issued 2 collectives"]),
    (7, 2, MESSAGES, ["ncclSend", "ncclGroupStart"]),
    (8, 2, MESSAGES, ["ncclRecv"]),
    (9, 2, MISSING, ["called no ncclRecv"]),
    (10, 2, MISSING, ["called no ncclSend"]),
    (11, 2, MATCH, ["message 1 from rank 0 to rank 1", "different counts"]),
    (12, 2, ORDER, ["communicator 1", "communicator 2"]),
    (13, 3, MISSING, ["ncclCommInitRank", "rank 1 did not"]),
    (14, 2, MISSING, ["ncclCommSplit", "rank 1 did not"]),
    (15, 2, MESSAGES, ["has not come to"]),
    (16, 3, MESSAGES, ["rank 0", "rank 1", "rank 2"]),
    (17, 2, MESSAGES, ["ncclSend"]),
    (18, 3, MATCH, ["different calls", "rank 2 calls ncclBroadcast"]),
    (19, 2, MATCH, ["different calls", "the order in which ranks call"]),
    (20, 2, MATCH, ["different roots", "ncclReduce"]),
    (21, 2, MATCH, ["different counts", "ncclAllGather"]),
    (22, 2, MATCH, ["different counts", "ncclReduceScatter"]),
    (23, 2, MATCH, ["different types", "ncclAlltoAll", "bf16"]),
    (24, 2, MATCH, ["different roots", "ncclGather"]),
    (25, 2, MISSING, ["rank 1 has ended"]),
    (26, 2, MISSING, ["rank 1 has destroyed it"]),
    (27, 2, MISSING, ["rank 1 has aborted it"]),
    (28, 2, MISSING, ["message 2", "called no ncclRecv"]),
    (29, 3, MESSAGES, ["has not come to"]),
    (30, 2, MISSING, ["ncclCommWindowRegister", "rank 1 did not"]),
    (31, 2, "never signalled", ["wait_for"]),
    (33, 2, "never signalled", ["ncclWaitSignal for 2 signals of rank 1", "has sent 1", "hangs.cu:"]),
    (34, 2, MESSAGES, ["ncclWaitSignal for 1 signal of rank 1", "comes behind its own"]),
    (35, 3, "never signalled", ["has sent 0", "to rank 0"]),
    (36, 2, MISSING, ["ncclCommGrow", "rank 1, 2 did not"]),
    (37, 2, MISSING, ["ncclCommSuspend", "rank 1 did not"]),
    (32, 2, ORDER, ["communicator 1", "communicator 2"]),
]


def timed(command, environment):
    begin = time.monotonic()
    run = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=HERE, timeout=60, check=False)
    return run, time.monotonic() - begin


def main():
    tool, only = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, TMPDIR=folder)
        failures, longest = 0, 0.0
        # The first run compiles.
        subprocess.run([tool, "exec", os.path.join(HERE, "hangs.cu"), "-lnccl", "--", "99"], env=environment,
                       capture_output=True, cwd=HERE, check=False)
        for number, ranks, cause, says in CASES:
            if only and str(number) not in only:
                continue
            command = [tool, "exec", "--ranks", str(ranks), "hangs.cu", "-lnccl", "--", str(number)]
            for _ in range(ATTEMPTS):
                run, seconds = timed(command, environment)
                if seconds <= SECONDS:
                    break
            longest = max(longest, seconds)
            text = run.stdout + run.stderr
            wrong = [s for s in [f"deadlock: {cause}: "] + says if s not in text]
            if run.returncode == 0:
                wrong.append("an exit code other than 0")
            if seconds > SECONDS:
                wrong.append(f"an end within {SECONDS} s: it took {seconds:.1f} s")
            if wrong:
                failures += 1
                print(f"FAIL {number}: missing {wrong}\n{text}")
        print(f"{len(CASES) if not only else len(only)} programs, {failures} failures, the longest took {longest:.2f} s")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
