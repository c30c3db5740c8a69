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


def is_of_a_layer(path, build):
    """A file of src/, or a batch of them; no test, no generated header."""
    return path.startswith(f"{ROOT}/src/") or re.match(re.escape(f"{build}/src/") + r".*/Unity/unity_\d+_cxx\.cxx$", path) is not None


def main():
    if len(sys.argv) != 2 or not Path(sys.argv[1], "compile_commands.json").exists():
        sys.exit(__doc__)
    build = Path(sys.argv[1]).resolve()
    commands, headers, compiled = [], set(), 0
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = os.path.normpath(os.path.join(entry["directory"], entry["file"]))
        if not is_of_a_layer(path, build):
            continue
        words = shlex.split(entry["command"])
        at = words.index("-o")
        if os.path.exists(os.path.join(entry["directory"], words[at + 1])):
            compiled += 1
            continue
        headers |= {word for word in words if word.endswith(".pch")}
        del words[at:at + 2]
        words[words.index("-c")] = "-fsyntax-only"
        commands.append((path, entry["directory"], words))
    if headers:
        # As ninja names them: below the build folder.
        subprocess.run(["ninja", "-C", build, *sorted(os.path.relpath(header, build) for header in headers)], check=True,
                       stdout=subprocess.DEVNULL)

    def read(command):
        path, folder, words = command
        done = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return path, done.returncode, done.stdout

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, code, output in pool.map(read, commands):
            failed += code != 0
            if output:
                print(f"{os.path.relpath(path, ROOT)}:\n{output}", end="", flush=True)
    print(f"syntax: {len(commands)} files read, {compiled} were compiled before, {failed} refused")
    sys.exit(1 if failed or not commands else 0)


main()
