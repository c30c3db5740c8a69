#!/usr/bin/env python3
"""NCCL across nodes uses the network cards: its time grows when writes saturate them.

usage: run_shared_card.py FABRICBENCH PROGRAM.cu"""

import re
import subprocess
import sys

TOOL, PROGRAM = sys.argv[1:3]


def measure(platform, ranks):
    done = subprocess.run([TOOL, "exec", "--platform", platform, "--ranks", str(ranks), "-libverbs", "-lnccl", PROGRAM],
                          capture_output=True, text=True, timeout=280)
    found = re.search(r"alone ([\d.]+) beside ([\d.]+)", done.stdout)
    if done.returncode != 0 or not found:
        sys.exit(f"exit code {done.returncode}\n{done.stdout}{done.stderr}")
    print(f"{platform}: alone {found[1]} us, beside writes {found[2]} us")
    return float(found[1]), float(found[2])


def explain(platform, ranks):
    return subprocess.run([TOOL, "dev", "nccl-model", "--platform", platform, "--gpus", str(ranks), "--min", "16777216", "--max",
                           "16777216"], capture_output=True, text=True, timeout=60).stdout


for platform, ranks, says, least in (("gh200x2", 2, "# 2 nodes: 1 cards of each, 48.0 GB/s each way; 14.0 us", 1.5),
                                     ("h100x8_2nodes", 16, "# 2 nodes: 8 cards of each, 48.0 GB/s each way; 14.0 us", 1.2)):
    alone, beside = measure(platform, ranks)
    explained = explain(platform, ranks)
    if says not in explained:
        sys.exit(f"nccl-model says what crosses nodes\n{explained}")
    modelled = float(explained.splitlines()[-1].split()[1])
    if abs(alone / modelled - 1) > 0.1:
        sys.exit(f"alone it takes {alone} us, nccl-model says {modelled}")
    # Until the writes have left the card, both share it; a collective is as slow as its slowest rail.
    if beside / alone < least:
        sys.exit(f"writes through the same card slow it down: {alone} and {beside} us")
