#!/usr/bin/env python3
"""Mistaken solutions as exported folders: what the folder's own run finds, and what `exec --check` finds of the same
folder. Right solutions beside them must be found right by both.

Usage: mistakes.py FABRICBENCH [--table FILE] [--jobs N] [NAME…]

The solutions are those of tests/e2e/candidates that a judge finds wrong, racy, hanging, faulty or uninitialised. The table
is written as Markdown; exit code 1 if a right solution is found wrong by either.
"""
import argparse
import collections
import concurrent.futures
import glob
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/e2e/candidates"))
import edits  # noqa: E402

MISTAKES = {"wrong", "race", "deadlock", "fault", "uninitialised", "leak"}
SECONDS = 300
SCHEDULES = "4"


def solutions(names):
    """(name, problem, class, about, text) of the candidates that are wanted."""
    for path in sorted(glob.glob(str(ROOT / "tests/e2e/candidates/*"))):
        name, ending = os.path.splitext(os.path.basename(path))
        if ending == ".toml":
            header, text = edits.read(path)
        elif ending == ".cu" and not os.path.exists(path[:-3] + ".expect"):
            header, text = edits.header_of(Path(path).read_text())
        else:
            continue
        if names and name not in names:
            continue
        expected = header.get("expect", "")
        if expected in MISTAKES or (expected == "pass" and name.startswith("right_")):
            yield name, header["problem"], expected, header.get("about", ""), text


def ending(command, folder):
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, done.stdout + done.stderr


def tried(fabricbench, problem, text):
    """What each says: "right", "not built", or what it found."""
    with tempfile.TemporaryDirectory() as scratch:
        answer, folder = Path(scratch) / "solution.cu", Path(scratch) / "folder"
        answer.write_text(text)
        subprocess.run([fabricbench, "export", problem["name"], "-o", folder, "--solution", answer, "--no-reference"], check=True,
                       stdout=subprocess.DEVNULL)
        built = subprocess.run(["make", "-C", folder, f"NVCC={fabricbench}-nvcc"], capture_output=True, text=True, check=False)
        if built.returncode != 0:
            return "not built", "not built"
        start = [fabricbench, "exec", "--platform", problem["platform"], "--ranks", str(problem["worlds"][0])]
        program = ["./run", "--", "--quick", "solution.so"]
        code, said = ending([*start, *program], folder)
        own = "right" if code == 0 else "runs too long" if code is None else what_folder(said)
        code, said = ending([*start, "--check", "--schedules", SCHEDULES, *program], folder)
        checked = "right" if code == 0 else "runs too long" if code is None else what_check(said, own)
        return own, checked


def what_folder(said):
    for word, what in (("hangs", "hang"), ("deadlock", "hang"), ("wrong", "wrong values"), ("fault", "fault"), ("illegal", "fault")):
        if word in said:
            return what
    return "fails"


def what_check(said, own):
    for line in said.splitlines():
        for word, what in (("fabricbench: race", "race"), ("fabricbench: deadlock", "hang with its cause"), ("fabricbench: fault", "fault, with its line"),
                           ("fabricbench: uninitialised", "uninitialised")):
            if line.startswith(word):
                return what
    return own


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fabricbench")
    parser.add_argument("--table", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    fabricbench = os.path.abspath(options.fabricbench)
    listed = json.loads(subprocess.run([fabricbench, "list", "--json"], capture_output=True, text=True, check=True).stdout)
    known = {problem["name"]: problem for problem in listed["problems"]}
    chosen = [row for row in solutions(set(options.names)) if row[1] in known]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        found = list(pool.map(lambda row: tried(fabricbench, known[row[1]], row[4]), chosen))
    lines = ["| solution | mistake | the judge | the folder | `exec --check` |", "|---|---|---|---|---|"]
    counts, failures = collections.Counter(), []
    for (name, problem, expected, about, _), (own, checked) in zip(chosen, found):
        lines.append(f"| `{name}` of `{problem}` | {about.rstrip('.')} | {expected} | {own} | {checked} |")
        print(lines[-1], flush=True)
        if expected == "pass":
            failures += [name] * (own != "right" or checked != "right")
        else:
            counts["folder" if own != "right" else "check alone" if checked != "right" else "neither"] += 1
    total = sum(counts.values())
    summary = (f"Of {total} mistakes the folder finds {counts['folder']}, `exec --check` {counts['check alone']} more, "
               f"neither finds {counts['neither']}.")
    print(summary)
    if options.table:
        options.table.write_text("\n".join(lines) + f"\n\n{summary}\n")
    if failures:
        print("right, and found wrong: " + " ".join(failures))
    return 1 if failures or not found else 0


sys.exit(main())
