#!/usr/bin/env python3
"""The problem that `fabricbench new` writes: `prove` refuses it because its texts say TODO, and for no other reason.

Usage: skeleton_test.py FABRICBENCH
"""
import pathlib
import re
import subprocess
import sys
import tempfile


def prove(tool, pack):
    """Exit code, and check → whether it holds."""
    done = subprocess.run([tool, "dev", "prove", "--verbose", "--problems", pack, "comm/p2p/next_rank"],
                          capture_output=True, text=True, timeout=600, check=False)
    print(done.stdout, done.stderr, sep="")
    return done.returncode, {m[2]: m[1] != "FAIL" for m in re.finditer(r"^  (ok|skip|FAIL) +(.*?)  \(", done.stdout, re.M)}


def main():
    tool = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        pack = pathlib.Path(folder) / "skeleton"
        subprocess.run([tool, "new", "comm/p2p/next_rank", "--problems", pack], check=True, timeout=60)
        code, checks = prove(tool, pack)
        assert code != 0, "a problem that says TODO is proven"
        assert [name for name, good in checks.items() if not good] == ["nothing is left to do in its texts"], checks
        for file in pack.rglob("*"):
            if file.is_file():
                file.write_text(file.read_text().replace("TODO", "done"))
        code, checks = prove(tool, pack)
        assert code == 0 and all(checks.values()), checks


main()
