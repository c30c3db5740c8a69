#!/usr/bin/env python3
"""docs/guide/rank_a_model.md works as it is written: all its `sh` blocks, in order, in a folder that looks like a checkout. Only the
problems are fewer: the two of the page that are judged in the least time.

Usage: tutorial_test.py FABRICBENCH
"""
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys

import harness

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROBLEMS = "peer_copy push_copy pull_copy ipc_copy flag_ping_pong put_with_signal"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main():
    tool, checks = pathlib.Path(sys.argv[1]).resolve(), harness.Checks()
    page = (ROOT / "docs" / "guide" / "rank_a_model.md").read_text()
    blocks = re.findall(r"^```sh\n(.*?)^```$", page, re.S | re.M)
    checks.that(len(blocks) >= 5, f"{len(blocks)} blocks")
    checks.same(sum(block.count(PROBLEMS) for block in blocks), 1, "commands that name the problems")
    port = free_port()
    with harness.folder() as folder:
        for name in ("tests", "problems"):
            (folder / name).symlink_to(ROOT / name)
        # A server that was started takes a moment.
        script = "set -e\n" + "\n".join(blocks).replace("8000", str(port)).replace(PROBLEMS, "flag_ping_pong put_with_signal")
        script = script.replace("problems &", "problems >/dev/null & SERVER=$!; trap 'kill $SERVER' EXIT; sleep 1")
        env = harness.environment(PATH=f"{tool.parent}:{os.environ['PATH']}")
        shell = subprocess.Popen(["bash", "-c", script], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 start_new_session=True)
        try:
            out, err = shell.communicate(timeout=900)
        except subprocess.TimeoutExpired:
            os.killpg(shell.pid, signal.SIGKILL)
            out, err = shell.communicate()
        checks.same(shell.returncode, 0, f"exit code ({err[-800:]})")
        checks.that("put_with_signal" in out and "// [solution]" in out, "no list or no prompt")
        checks.that(re.search(r"put_with_signal sample 1 round 2: ", err), f"no second round: {err[-800:]}")
        checks.that("2 samples, 2 done before" in err, f"the second life has something to do: {err[-800:]}")
        checks.that("atlas" in out and "borealis" in out, f"the leaderboard lacks a model: {out[-800:]}")
        checks.that((folder / "site" / "index.html").exists(), "no site")
    checks.close()


if __name__ == "__main__":
    main()
