#!/usr/bin/env python3
"""Uses and misuses of verbs have the errno, the status and the events that real cards give.

usage: run_uses.py FABRICBENCH"""

import re
import subprocess
import sys
from pathlib import Path

TOOL = sys.argv[1]
done = subprocess.run([TOOL, "exec", "--platform", "h100x8_2nodes", "--ranks", "1",
                       str(Path(__file__).parent / "uses.cu"), "-libverbs"], capture_output=True, text=True, timeout=250)
text = done.stdout + done.stderr
found = re.search(r"(\d+) checks, 0 failed", text)
if done.returncode != 0 or not found or int(found[1]) < 150:
    sys.exit(f"exit code {done.returncode}\n{text}")

for clock in ([], ["--virtual-clock"]):
    done = subprocess.run([TOOL, "exec", "--platform", "h100x8_2nodes", "--ranks", "1", *clock,
                           str(Path(__file__).parent / "more_uses.cu"), "-libverbs"], capture_output=True, text=True, timeout=250)
    text = done.stdout + done.stderr
    found = re.search(r"(\d+) checks, 0 failed", text)
    if done.returncode != 0 or not found or int(found[1]) < 100:
        sys.exit(f"{clock}: exit code {done.returncode}\n{text}")

program = Path(__file__).parent / "hang_word.cu"
line = next(n for n, text in enumerate(program.read_text().splitlines(), 1) if "// polled here" in text)
done = subprocess.run([TOOL, "exec", "--platform", "h100x8_2nodes", "--ranks", "1", str(program), "-libverbs"],
                      capture_output=True, text=True, timeout=250)
said = done.stdout + done.stderr
if done.returncode == 0 or "polls a word of registered memory" not in said or f"hang_word.cu:{line}" not in said:
    sys.exit(f"a hang: exit code {done.returncode}\n{said}")
