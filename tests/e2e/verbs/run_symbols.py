#!/usr/bin/env python3
"""Our libibverbs, or librdmacm, exports what Debian's does, under the same versions.

usage: run_symbols.py OURS THEIRS IBVERBS_|RDMACM_ COUNT"""

import subprocess
import sys

PREFIX = sys.argv[3]


def exported(library):
    text = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in text.splitlines() if "@" + PREFIX in line and " A " not in line}


def plain(symbols):
    return {symbol.replace("@@", "@") for symbol in symbols}


ours, theirs = exported(sys.argv[1]), exported(sys.argv[2])
# The first forms of functions that have a later one, with a single @, are left out.
missing = plain(symbol for symbol in theirs if "@@" in symbol) - plain(ours)
more = plain(ours) - plain(theirs)
if missing or more or len(ours) < int(sys.argv[4]):
    sys.exit(f"{len(ours)} symbols; missing: {sorted(missing)}; too many: {sorted(more)}")
