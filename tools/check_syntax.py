#!/usr/bin/env python3
"""A build folder's compiler reads the files of src/ that the folder has not compiled, without making code of them: what
another compiler says of the layers that are built with g++ alone. Warnings are errors where the folder says so (FB_WERROR).

Usage: check_syntax.py BUILD

Batches of files (FB_UNITY) and precompiled headers are taken as the folder has them.
"""
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


INCLUDE = re.compile(r'^#include "(.*)"$', re.MULTILINE)


def sources_of(path, build):
    """Of a layer: the file of src/, or those of a batch; of others none."""
    if path.startswith(f"{ROOT}/src/"):
        return {path}
    if re.match(re.escape(f"{build}/src/") + r".*/Unity/unity_\d+_cxx\.cxx$", path) and os.path.exists(path):
        return set(INCLUDE.findall(Path(path).read_text()))
    return set()


def main():
    if len(sys.argv) != 2 or not Path(sys.argv[1], "compile_commands.json").exists():
        sys.exit(__doc__)
    build = Path(sys.argv[1]).resolve()
    known, rest = set(), []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        sources = sources_of(os.path.normpath(os.path.join(entry["directory"], entry["file"])), build)
        words = shlex.split(entry["command"])
        if os.path.exists(os.path.join(entry["directory"], words[words.index("-o") + 1])):
            known |= sources
        else:
            rest.append((sources, entry["directory"], words))
    compiled = len(known)
    commands, headers = [], set()
    # A layer may be compiled twice, into libraries with different options.
    for sources, folder, words in rest:
        if not sources <= known:
            known |= sources
            headers |= {word for word in words if word.endswith(".pch")}
            at = words.index("-o")
            del words[at:at + 2]
            words[words.index("-c")] = "-fsyntax-only"
            commands.append((folder, words))
    if headers:
        # As ninja names them: below the build folder.
        subprocess.run(["ninja", "-C", build, *sorted(os.path.relpath(header, build) for header in headers)], check=True,
                       stdout=subprocess.DEVNULL)

    def read(command):
        folder, words = command
        done = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return words[-1], done.returncode, done.stdout

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, code, output in pool.map(read, commands):
            failed += code != 0
            if output:
                print(f"{os.path.relpath(path, ROOT)}:\n{output}", end="", flush=True)
    print(f"syntax: {len(known) - compiled} files read, {compiled} were compiled before, {failed} refused")
    sys.exit(1 if failed or not commands else 0)


main()
