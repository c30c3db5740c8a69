#!/usr/bin/env python3
"""Stands in for `fabricbench worker` where a campaign is tried and not the judge: answers each line at once, by the answer's text.

An answer that holds `STUB <class>` gets this class. STUB_SECONDS is how long a judgement takes; an answer that holds `STUB
kills the worker` does so, `STUB fails` makes no verdict.
"""
import json
import os
import pathlib
import re
import signal
import sys
import time
import zlib


def judge(job_file):
    job_path = pathlib.Path(job_file)
    job = json.loads(job_path.read_text())
    answer = (job_path.parent / job["answer"]).read_text()
    time.sleep(float(os.environ.get("STUB_SECONDS", "0")))
    if "STUB kills the worker" in answer:
        os.kill(os.getpid(), signal.SIGKILL)
    if "STUB fails" in answer:
        return "failed by order"
    said = re.search(r"STUB (\w+)", answer)
    verdict = {"class": said[1] if said else "wrong", "summary": "a stub's", "problem": job["problem"], "seed": job["seed"],
               "candidate_hash": f"{zlib.crc32(answer.encode()):08x}", "sandbox": "none", "version": "stub"}
    if verdict["class"] == "pass":
        verdict["speed"] = 0.5 + zlib.crc32(job["problem"].encode()) % 100 / 100
    target = job_path.with_name(job_path.name.replace(".job.json", ".verdict.json"))
    part = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    part.write_text(json.dumps({"verdict": verdict, "cached": False}))
    part.rename(target)
    return "done"


def main():
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for line in sys.stdin:
        print(judge(line.rstrip("\n")), flush=True)


if __name__ == "__main__":
    main()
