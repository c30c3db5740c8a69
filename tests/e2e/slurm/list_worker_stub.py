#!/usr/bin/env python3
"""Stands in for `fabricbench worker` where only the executor is tried: slow, and wrong where RUN/stub.json says so.

    list_worker_stub.py worker --list RUN/slurm/<batch>/<task>.list

Each judgement that begins is a line of RUN/journal: sample, node, how often Slurm has started the task again.
"""

import json
import os
import pathlib
import sys
import time


def main(words):
    options = dict(zip(words[1::2], words[2::2]))
    run = pathlib.Path(options["--list"]).parents[2]
    stub = json.loads((run / "stub.json").read_text())
    failures = 0
    for job in pathlib.Path(options["--list"]).read_text().splitlines():
        verdict = pathlib.Path(job.replace(".job.json", ".verdict.json"))
        if verdict.exists():
            continue
        sample = int(verdict.parent.name)
        with open(run / "journal", "a") as journal:
            journal.write(f"{sample} {os.environ['SLURMD_NODENAME']} {os.environ.get('SLURM_RESTART_COUNT', 0)}\n")
        time.sleep(stub["seconds"])
        if sample in stub.get("die", []):
            print(f"sample {sample} takes the worker with it", flush=True)
            os.kill(os.getpid(), 9)
        if sample in stub.get("fail", []):
            print(f"sample {sample} fails", flush=True)
            failures += 1
            continue
        part = verdict.with_suffix(f".{os.getpid()}.tmp")
        part.write_text("{}")
        part.rename(verdict)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
