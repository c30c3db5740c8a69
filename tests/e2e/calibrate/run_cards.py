#!/usr/bin/env python3
"""Modelled against published times of network cards: errors within their bounds, and as docs/evidence/calibration.md prints them.

usage: run_cards.py FABRICBENCH DOCUMENT"""

import pathlib
import subprocess
import sys

TOOL, DOCUMENT = sys.argv[1:3]
text = pathlib.Path(DOCUMENT).read_text()
failures = []
for platform in ("gh200x2", "h100x8_2nodes", "ib_hdr200_2nodes"):
    done = subprocess.run([TOOL, "dev", "calibrate", "--platform", platform, "--most-fit-median", "0.10", "--most-median", "0.15"],
                          capture_output=True, text=True, timeout=500)
    if done.returncode != 0:
        failures.append(f"{platform}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        continue
    # The last line is about pairs of curves, which cards have none of.
    table = "".join(line.rstrip() + "\n" for line in done.stdout.splitlines() if not line.startswith("order:"))
    if table not in text:
        failures.append(f"{platform}: the document has other figures than\n{table}")
if failures:
    sys.exit("\n".join(failures))
