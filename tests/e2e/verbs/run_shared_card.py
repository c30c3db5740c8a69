#!/usr/bin/env python3
"""NCCL across nodes uses the network cards: its time grows when writes saturate them.

usage: run_shared_card.py FABRICBENCH PROGRAM.cu"""

import re
import subprocess
import sys

TOOL, PROGRAM = sys.argv[1:3]
done = subprocess.run([TOOL, "exec", "--platform", "gh200x2", "--ranks", "2", "-libverbs", "-lnccl", PROGRAM],
                      capture_output=True, text=True, timeout=280)
found = re.search(r"alone ([\d.]+) beside ([\d.]+)", done.stdout)
if done.returncode != 0 or not found:
    sys.exit(f"exit code {done.returncode}\n{done.stdout}{done.stderr}")
alone, beside = float(found[1]), float(found[2])
print(f"alone {alone} us, beside writes {beside} us")
# 16 MiB each way by one card of 48 GB/s take 350 us, and NCCL's latency.
if not 350 < alone < 500:
    sys.exit("alone it takes what its card takes")
# Until 64 MiB have left the card, both share it.
if not 1.5 < beside / alone < 2.2:
    sys.exit("writes through the same card take half of it")
explained = subprocess.run([TOOL, "nccl-model", "--platform", "gh200x2", "--gpus", "2", "--min", "16777216", "--max", "16777216"],
                           capture_output=True, text=True, timeout=60).stdout
if "# 2 nodes: 1 cards of each, 48.0 GB/s each way; 14.0 us" not in explained:
    sys.exit(f"nccl-model says what crosses nodes\n{explained}")
modelled = float(explained.splitlines()[-1].split()[1])
if abs(alone / modelled - 1) > 0.1:
    sys.exit(f"nccl-model says {modelled}")
