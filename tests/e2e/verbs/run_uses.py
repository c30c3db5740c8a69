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

done = subprocess.run([TOOL, "exec", "--platform", "h100x8_2nodes", "--ranks", "1",
                       str(Path(__file__).parent / "hang.cu"), "-libverbs"], capture_output=True, text=True, timeout=250)
if done.returncode == 0 or "work request 4711: its peer has no receive posted" not in done.stdout + done.stderr:
    sys.exit(f"a hang: exit code {done.returncode}\n{done.stdout}{done.stderr}")
