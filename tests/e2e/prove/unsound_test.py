#!/usr/bin/env python3
"""Proves a problem that is none: whatever is zero passes, and prove must say so.

Usage: prove_test.py FABRICBENCH
"""
import json
import os
import shutil
import subprocess
import sys

FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "unit", "prove", "fixtures")
IMPOSTORS = "outputs of impostors are refused"
CANDIDATES = "impostors do not pass"
BAD = {"reference moves the bytes that [cost] states": "link_bytes: stated 2048, counted 0",
       "oracle is deterministic": "two seeds give the same expected values",
       "oracle depends on every input and on other ranks": "no expected value depends on `in`",
       IMPOSTORS: "is accepted",
       CANDIDATES: "zeros passes",
       "an independent alternative passes": "there is no alternative.cu"}


def main():
    command = [sys.argv[1], "dev", "prove", "--problems", FIXTURES, "--json", "always_zero"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=250)
    assert done.returncode == 1, f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
    (report,) = json.loads(done.stdout)
    assert report["problem"] == "always_zero" and report["good"] is False, report
    checks = {check["name"]: check for check in report["checks"]}
    for name, check in checks.items():
        print("ok  " if check["good"] else "FAIL", name, "-", check["detail"].splitlines()[:1])
    has_nvcc = shutil.which("nvcc") or os.path.exists("/usr/local/cuda/bin/nvcc")
    for name, check in checks.items():
        assert check["skipped"] == ("nvcc" in name and not has_nvcc), f"{name}: {check}"
        assert check["good"] == (name not in BAD), f"{name}: {check}"
        assert BAD.get(name, "") in check["detail"], f"{name}: {check}"
    assert set(BAD) | {"reference compiles with nvcc"} <= set(checks), "checks are missing"


if __name__ == "__main__":
    main()
