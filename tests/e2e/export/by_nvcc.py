#!/usr/bin/env python3
"""Exported folders built by NVIDIA's nvcc with an empty environment, far from everything of ours, and run on the virtual
node. The first one is watched: it opens nothing of ours outside its folder. Problems whose solutions need NCCL, cuBLAS or
verbs are left out: their libraries are not there. One that is named fails.

Usage: by_nvcc.py FABRICBENCH NVCC [PROBLEM…]        all problems where none is named
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
LIBRARIES = re.compile(r"^ *# *include.*(nccl|cublas|verbs)", re.MULTILINE)
SECONDS = 900


def build(folder, nvcc, watched):
    """Why it failed, or what it opened that it should not have; empty: nothing."""
    path = "/usr/bin:/bin"
    command = ["env", "-i", f"PATH={path}", "make", "-C", str(folder), f"NVCC={nvcc}"]
    log = folder / "opened"
    if watched:
        command = ["strace", "-f", "-qq", "-e", "trace=open,openat,execve", "-o", str(log), *command]
    built = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    if built.returncode != 0:
        return f"does not build:\n{built.stdout[-1500:]}{built.stderr[-3000:]}"
    if not watched:
        return ""
    toolkit = Path(nvcc).resolve().parents[1]
    opened = set(re.findall(r'(?:open|openat|execve)\([^"]*"([^"]+)"[^=]*\) = \d', log.read_text(errors="replace")))
    assert any(name.endswith("harness/run.cu") for name in opened), "strace saw nothing"
    ours = [name for name in opened if Path(name).is_absolute() and Path(os.path.normpath(name)).is_relative_to(ROOT)
            and not Path(os.path.normpath(name)).is_relative_to(toolkit) and toolkit not in Path(name).resolve().parents]
    return f"opens files of ours: {sorted(ours)[:5]}" if ours else ""


def main():
    fabricbench, nvcc, names = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3:]
    listed = json.loads(subprocess.run([fabricbench, "list", "--json"], capture_output=True, text=True, check=True).stdout)["problems"]
    unknown = set(names) - {problem["name"] for problem in listed}
    assert not unknown, f"no such problems: {sorted(unknown)}"
    done, failed = 0, 0
    for problem in listed:
        if names and problem["name"] not in names:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "exported"
            subprocess.run([fabricbench, "export", problem["name"], "-o", folder], check=True, stdout=subprocess.DEVNULL)
            sources = [path for path in folder.glob("*.cu")]
            libraries = {found for path in sources for found in LIBRARIES.findall(path.read_text())}
            if libraries and not names:
                continue
            (folder / "solution.cu").unlink()
            copied = Path(scratch) / "elsewhere"
            shutil.copytree(folder, copied)
            shutil.rmtree(folder)
            why = f"needs {', '.join(sorted(libraries))}, which is not there" if libraries else build(copied, nvcc, done == 0)
            if not why:
                ran = subprocess.run([fabricbench, "exec", "--platform", problem["platform"], "--ranks", "1", "./run", "--", "-n",
                                      str(problem["worlds"][0]), "--quick"], cwd=copied, capture_output=True, text=True, timeout=SECONDS, check=False)
                why = "" if ran.returncode == 0 and "all right" in ran.stdout else (ran.stdout + ran.stderr)[-3000:]
        print(f"{'FAILED' if why else 'ok    '} {problem['name']} {why}", flush=True)
        done += 1
        failed += bool(why)
    print(f"{done} folders by nvcc, {failed} failed")
    return 1 if failed or not done else 0


sys.exit(main())
