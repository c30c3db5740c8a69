#!/usr/bin/env python3
"""Modelled against published times: errors within the bounds of the options, and as docs/evidence/calibration.md prints them.

usage: run_curves.py FABRICBENCH DOCUMENT PLATFORM[,PLATFORM…] [OPTION of `dev calibrate`…]"""

import pathlib
import subprocess
import sys

TOOL, DOCUMENT, PLATFORMS, *OPTIONS = sys.argv[1:]
text = pathlib.Path(DOCUMENT).read_text()
failures = []
for platform in PLATFORMS.split(","):
    done = subprocess.run([TOOL, "dev", "calibrate", "--platform", platform, *OPTIONS], capture_output=True, text=True, timeout=800)
    if done.returncode != 0:
        failures.append(f"{platform}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        continue
    # The last line is about pairs of curves, which cards have none of.
    table = "".join(line.rstrip() + "\n" for line in done.stdout.splitlines() if not line.startswith("order:"))
    if table not in text:
        failures.append(f"{platform}: {DOCUMENT} has other figures than\n{table}")
if failures:
    sys.exit("\n".join(failures))
