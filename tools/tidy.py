#!/usr/bin/env python3
"""Runs clang-tidy on the units of a build folder: its source files of src/, or batches of them (FB_UNITY), which it reads
in a quarter of the time, as it looks through every header of the system. Without src/virtual_node/simt/exec: those
files are thousands of template instances and would take longer than all others.

Usage: tidy.py BUILD [NAME…]      units with these names, or that hold these source files; all where none is named
       tidy.py BUILD --list       names, each with its source files
"""
import concurrent.futures
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^#include "(.*)"$', re.MULTILINE)
# What a batch includes are source files, and their findings count.
HEADERS = r"(src|tests)/.*\.(h|cpp)$"


def relative(path, to):
    path = os.path.normpath(path)
    return os.path.relpath(path, to) if path.startswith(str(to) + os.sep) else None


def units_of(build):
    """name → (file, its source files)."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = os.path.join(entry["directory"], entry["file"])
        name = relative(path, ROOT)
        if name and name.startswith("src/"):
            files = [name]
        else:
            batch = re.search(r"/src/.*/Unity/unity_\d+_cxx\.cxx$", path)
            if not batch or not os.path.exists(path):
                continue
            name = relative(path, build)
            files = [relative(file, ROOT) for file in INCLUDE.findall(Path(path).read_text())]
        if not any(file and file.startswith("src/virtual_node/simt/exec/") for file in files):
            found[name] = path, [file for file in files if file and file.startswith("src/")]
    return dict(sorted(found.items()))


def tidy(build, path):
    done = subprocess.run(["clang-tidy-19", "-p", build, "--quiet", "--extra-arg=-Wno-unknown-warning-option",
                           f"--header-filter={HEADERS}", path], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    build, names = Path(sys.argv[1]).resolve(), sys.argv[2:]
    units = units_of(build)
    if names == ["--list"]:
        for name, (_, files) in units.items():
            print(name, *files)
        return 0
    unknown = [name for name in names if not any(name == unit or name in files for unit, (_, files) in units.items())]
    if unknown:
        sys.exit(f"tidy: {build} compiles no {' '.join(unknown)}")
    chosen = {name: unit for name, unit in units.items() if not names or name in names or set(unit[1]) & set(names)}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = False
        for code, output in pool.map(lambda unit: tidy(build, unit[0]), chosen.values()):
            failed = failed or code != 0
            print(output, end="", flush=True)
    print(f"clang-tidy: {sum(len(files) for _, files in chosen.values())} files in {len(chosen)} units")
    return 1 if failed else 0


sys.exit(main())
