#!/usr/bin/env python3
"""`report --measured`: self-reported times stand beside modelled ones and verdicts; results of another task, of a virtual
node, or broken ones are refused.

Usage: measured_test.py FABRICBENCH
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = os.path.abspath(sys.argv[1])
SMALL = Path(__file__).resolve().parents[2] / "unit" / "report" / "runs" / "small"
MADE_UP, PROBLEM = "ring_sum", "push_copy"  # the problem of the run whose name a real one takes
SIZE, WORLD, SECONDS = "1MiB", 8, 20e-6


def call(*words):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


def checksum(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x}"


def run_of(folder, answer):
    """The small run with a real problem, one attempt of which passed with `answer`."""
    shutil.copytree(SMALL, folder)
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.suffix == ".json":
            path.write_text(path.read_text().replace(MADE_UP, PROBLEM))
        if MADE_UP in path.name:
            path.rename(path.with_name(path.name.replace(MADE_UP, PROBLEM)))
    sample = folder / "samples" / "alpha" / PROBLEM / "1"
    (sample / "1.answer.md").write_text(f"```cuda\n{answer}```\n")
    attempt = json.loads((sample / "1.attempt.json").read_text())
    attempt["verdict"] = {**attempt["verdict"], "class": "pass",
                          "timings": [{"size": SIZE, "world": WORLD, "seconds": SECONDS, "reference_seconds": 2 * SECONDS}]}
    (sample / "1.attempt.json").write_text(json.dumps(attempt))


def main():
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        reference = (Path(json.loads(call("list", "--json")[1])["pack"]["root"]) / "comm" / "p2p" / PROBLEM / "reference.cu")
        answer = reference.read_text()
        run_of(scratch / "run", answer)
        code, out, err = call("export", PROBLEM, "-o", str(scratch / "folder"), "--solution", str(reference))
        assert code == 0, out + err
        task = re.search(r'task_hash = "(\w+)"', (scratch / "folder" / "problem.cpp").read_text())[1]
        source = (scratch / "folder" / "solution.cu").read_text()

        def results(**changes):
            file = scratch / "results.json"
            row = {"size": SIZE, "right": True, "us": [31.0, 29.5, 30.25]}
            file.write_text(json.dumps({
                "schema": 1, "problem": PROBLEM, "task": task, "world": WORLD, "gpu": {"name": "A card"}, "modelled": False,
                "solutions": {"solution": checksum(source)},
                "rows": [{**row, "solution": "reference"}, {**row, "solution": "solution", "right": False}], **changes}))
            return call("report", str(scratch / "run"), "--measured", str(file), "--json")

        code, out, err = results()
        assert code == 0, err
        first, second = json.loads(out)["measured"]
        expected = {"problem": PROBLEM, "size": SIZE, "world": WORLD, "gpu": "A card", "us": 30.25, "us_low": 29.5, "us_high": 31.0}
        assert first == {**expected, "solution": "reference", "right": True, "modelled_us": 40.0, "model": "", "outcome": ""}, first
        assert second == {**expected, "solution": "solution", "right": False, "modelled_us": 20.0, "model": "alpha", "outcome": "pass"}, second
        # No figure of a model has them in it.
        without = json.loads(call("report", str(scratch / "run"), "--json")[1])
        assert {**json.loads(out), "measured": []} == without

        results()
        text = call("report", str(scratch / "run"), "--measured", str(scratch / "results.json"), "--markdown")[1]
        assert "## Measured, self-reported" in text and f"| {PROBLEM} | {SIZE} | alpha | 8 × A card | no |" in text, text
        site = scratch / "site"
        assert call("report", str(scratch / "run"), "--measured", str(scratch / "results.json"), "--html", str(site))[0] == 0
        page = next(site.rglob(f"{PROBLEM}.html")).read_text()
        assert "Measured, self-reported" in page and "30.2" in page, page[:2000]

        for changes, says in (({"task": "0" * 32}, f"{PROBLEM} was another task when it was exported (hash {'0' * 32}, now {task})"),
                              ({"modelled": True}, "it ran on a virtual node, where times are modelled"),
                              ({"problem": "push_cop"}, "did you mean 'push_copy'"),
                              ({"schema": 2}, "later version of fabricbench"),
                              ({"rows": [{"size": SIZE, "solution": "reference", "right": True, "us": [-1]}]}, "no positive number"),
                              ({"rows": [{"size": SIZE}]}, "solution")):
            code, out, _ = results(**changes)
            assert code == 2 and says in " ".join(json.loads(out)["error"]["messages"]), (says, out)
        code, out, err = call("report", str(scratch / "run"), "--measured", "/no/such.json")
        assert code == 2 and "/no/such.json" in err, err
    print("measured OK")


main()
