#!/usr/bin/env python3
"""No baseline is slower than twice what its parts need: NCCL's and cuBLAS's calls and copies as long as they take, each
kernel of its own a launch, and the bytes of memory of the call at the device's peak. Arithmetic of its own kernels is not counted.

usage: baseline_parts.py FABRICBENCH PROBLEMS [NAME…]        without names: all problems with a baseline

Read from the timeline of the timed calls (`check --trace`), on the rank whose calls take longest."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

MOST = 2.0
LIBRARY = re.compile(r"^(nccl|cublas|copy|memcpy|memset|memory set)|of NCCL|of cuBLAS")  # how the timeline names them
LAUNCH_SECONDS = 3e-6       # from one launch of a host to the next, docs/reference/time.md
SECONDS = 900


def calls_of(events):
    """Of each session the last call, which is timed and has nothing to load: the events of each device, in order of time. A
    call ends with the event `end of call N`; a session begins with number 0."""
    by_device = defaultdict(list)
    for event in events:
        if event["ph"] == "X" and "issued_ns" in event.get("args", {}):
            by_device[event["pid"]].append(event)
    sessions = defaultdict(dict)
    for device, its in by_device.items():
        open_call, session = [], 0
        for event in sorted(its, key=lambda e: (round(e["ts"] + e["dur"], 3), e["name"].startswith("end of call"))):
            if event["name"].startswith("end of call"):
                session += event["name"] == "end of call 0"
                sessions[session][device] = open_call
                open_call = []
            else:
                open_call.append(event)
    return list(sessions.values())


def parts_of(events):
    """Seconds that a call took on a device, seconds of the libraries in it, launches of its own kernels."""
    begin = min(e["ts"] for e in events)
    end = max(e["ts"] + e["dur"] for e in events)
    library = [e for e in events if LIBRARY.search(e["name"])]
    return (end - begin) * 1e-6, sum(e["dur"] for e in library) * 1e-6, len(events) - len(library)


def memory_of(timing, peak):
    """Seconds that the bytes of the call need, of each session of a timed size: one, or one for each sample."""
    seconds = timing["moved"]["memory"] / peak
    return [seconds * value / timing["scale_value"] for value, _ in timing["samples"]] or [seconds]


def judged(tool, problems, folder, trace):
    command = [tool, "check", folder, str(Path(folder) / "baseline.cu"), "--problems", problems, "--trace", str(trace), "--json", "--seed", "7",
               "--schedules", "1", "--no-races", "--no-reference"]
    verdict = json.loads(subprocess.run(command, capture_output=True, text=True, timeout=SECONDS).stdout)
    return verdict, json.loads(Path(trace).read_text())["traceEvents"] if Path(trace).exists() else []


def worst_of(tool, problems, folder):
    """The largest ratio of a timed call to its parts, with a word on it."""
    with tempfile.TemporaryDirectory(prefix="parts") as scratch:
        verdict, events = judged(tool, problems, folder, Path(scratch) / "trace.json")
    if verdict["class"] != "pass":
        return float("inf"), f"the baseline does not pass: {verdict['summary']}"
    peak = verdict["peaks"]["memory_bytes_per_second"]
    sessions = calls_of(events)
    memory = [seconds for t in verdict["timings"] for seconds in memory_of(t, peak)]
    if len(memory) != len(sessions):
        return float("inf"), f"{len(sessions)} sessions in the timeline, {len(memory)} timed sizes and samples"
    worst = (0.0, "")
    for call, rate in zip(sessions, memory):
        seconds, library, own = max(parts_of(e) for e in call.values() if e)
        need = library + own * LAUNCH_SECONDS + rate
        worst = max(worst, (seconds / need, f"{1e6 * seconds:.1f} us: libraries {1e6 * library:.1f}, {own} launches, memory {1e6 * rate:.1f}"))
    return worst


def pack_for_baselines(problems, scratch):
    """A copy of the pack in which NCCL, which the collectives' baselines use, is forbidden to no problem."""
    pack = shutil.copytree(problems, Path(scratch) / "problems")
    for file in pack.glob("*/*/*/problem.toml"):
        text = file.read_text()
        if (file.parent / "baseline.cu").exists() and "\nlibraries = " not in text:
            file.write_text(text.replace("\n[rules]\n", '\n[rules]\nlibraries = ["nccl"]\n') if "\n[rules]\n" in text
                            else text + '\n[rules]\nlibraries = ["nccl"]\n')
    return pack


def main():
    tool, problems, *names = sys.argv[1:]
    scratch = tempfile.TemporaryDirectory(prefix="pack")
    problems = str(pack_for_baselines(problems, scratch.name))
    listed = sorted(Path(problems).glob("*/*/*/baseline.cu"))
    chosen = [file.parent for file in listed if not names or file.parent.name in names]
    failed = not chosen
    for folder in chosen:
        ratio, words = worst_of(tool, problems, str(folder))
        failed = failed or ratio > MOST
        print(f"{'FAIL' if ratio > MOST else 'ok  '} {folder.name:36} {ratio:5.2f}  {words}", flush=True)
    sys.exit(1 if failed else 0)


main()
