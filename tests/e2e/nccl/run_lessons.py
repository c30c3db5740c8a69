#!/usr/bin/env python3
"""What the lessons about NCCL say of times and hangs is so.

Usage: run_lessons.py FABRICBENCH
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def run(tool, ranks, name, *arguments):
    command = [tool, "exec", "--platform", "h100x8", "--ranks", str(ranks), f"examples/{name}.cu", "-lnccl", "--",
               *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120, check=False)
    print(done.stdout + done.stderr)
    return done.returncode, done.stdout + done.stderr


def main():
    tool = os.path.abspath(sys.argv[1])
    holds = {}
    code, text = run(tool, 8, "21_nccl_or_by_hand")
    times = [(float(hand), float(nccl)) for hand, nccl in
             re.findall(r"one shot +([\d.]+) us, NCCL +([\d.]+) us", text)]
    holds["three sizes were timed"] = code == 0 and len(times) == 3
    holds["at 16 KiB a kernel of one's own is faster"] = times[:1] and times[0][0] < times[0][1]
    holds["at 4 MiB NCCL is faster"] = times[2:] and times[2][1] < times[2][0]
    code, text = run(tool, 4, "22_send_and_receive", "wrong")
    holds["sends without a group are explained"] = (
        code != 0 and "deadlock: messages wait for each other" in text and "ncclGroupStart" in text)
    code, text = run(tool, 4, "23_overlap_of_compute_and_collective")
    both = re.search(r"on one stream ([\d.]+) us, on two ([\d.]+) us", text)
    holds["two streams overlap"] = code == 0 and both and float(both[2]) < 0.85 * float(both[1])
    wrong = [name for name, held in holds.items() if not held]
    for name in wrong:
        print(f"FAIL: {name}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
