#!/usr/bin/env python3
"""exec --trace: kernels and their blocks, and kernels that never end.

Usage: run_timeline.py FABRICBENCH ends|deadlock|fault|budget|timeout
"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "timeline", "blocks.cu")
MANY, SLOW = 3000, 2777  # blocks of `many`, and the slow one (blocks.cu)
MULTIPROCESSORS, MOST_OF_LAUNCH = 16, 256  # that are shown of a launch with more blocks (virtual_node/machine/process/timeline.h)
EPSILON = 1e-6  # microseconds: a picosecond


class Timeline:
    def __init__(self, text):
        events = json.loads(text)["traceEvents"]
        self.rows = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
        spans = [e for e in events if e["ph"] == "X"]
        self.blocks = [e for e in spans if self.row(e).startswith("SM ")]
        self.operations = [e for e in spans if not self.row(e).startswith("SM ")]
        self.instants = [e for e in events if e["ph"] == "i"]
        self.end = max(e["ts"] + e["dur"] for e in spans)

    def row(self, event):
        return self.rows[event["pid"], event["tid"]]

    def kernels(self, name):
        return [e for e in self.operations if re.match(rf"{name}\b", e["name"])]

    def kernel(self, name):
        found = self.kernels(name)
        assert len(found) == 1, f"{name}: {[e['name'] for e in self.operations]}"
        return found[0]

    def blocks_of(self, kernel):
        return [e for e in self.blocks if e["args"]["launch"] == kernel["args"]["launch"]]


def run(tool, way, *options):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.json")
        done = subprocess.run([tool, "exec", "--trace", path, *options, PROGRAM, "--", way], capture_output=True, text=True, timeout=120)
        assert "launched" in done.stdout, done
        with open(path, encoding="utf-8") as file:
            return done, Timeline(file.read())


def check_rows(timeline):
    """Blocks begin and end inside of their kernels, and no two of them are in one row at once."""
    kernels = {e["args"]["launch"]: e for e in timeline.operations if "launch" in e["args"]}
    rows = collections.defaultdict(list)
    for block in timeline.blocks:
        kernel = kernels[block["args"]["launch"]]
        assert block["name"].startswith(kernel["name"].split("(")[0] + " block "), (block, kernel)
        assert block["pid"] == kernel["pid"] and kernel["ts"] <= block["ts"], (block, kernel)
        assert block["ts"] + block["dur"] <= kernel["ts"] + kernel["dur"] + EPSILON, (block, kernel)
        rows[block["pid"], block["tid"]].append((block["ts"], block["ts"] + block["dur"]))
    for spans in rows.values():
        spans.sort()
        assert all(a[1] <= b[0] + EPSILON for a, b in zip(spans, spans[1:])), spans
    for kernel in kernels.values():
        assert len(timeline.blocks_of(kernel)) == kernel["args"]["blocks_shown"], kernel


def numbers(spans):
    return [int(re.search(r"block (\d+)", e["name"])[1]) for e in spans]


def ends(tool):
    done, timeline = run(tool, "ends")
    assert done.returncode == 0, done
    check_rows(timeline)
    few, many = timeline.kernel("few"), timeline.kernel("many")
    assert sorted(numbers(timeline.blocks_of(few))) == list(range(8)), "all blocks of a small launch"
    shown = timeline.blocks_of(many)
    assert many["args"]["blocks"] == many["args"]["blocks_ended"] == MANY and many["args"]["ended"] == "finished", many
    assert MOST_OF_LAUNCH <= len(shown) <= MOST_OF_LAUNCH + 2, len(shown)
    assert SLOW in numbers(shown), "the longest block is shown, wherever it was"
    slow = next(e for e in shown if e["name"] == f"many block {SLOW}")
    assert slow["dur"] == max(e["dur"] for e in shown) and abs(slow["dur"] - many["args"]["longest_block_us"]) < EPSILON, (slow, many)
    assert many["args"]["mean_block_us"] < slow["dur"] / 10, many
    first = {f"SM {k}" for k in range(MULTIPROCESSORS)}
    outside = [e for e in shown if timeline.row(e).split(",")[0] not in first]
    assert len(outside) <= 2, outside
    assert first <= {timeline.row(e).split(",")[0] for e in shown}, "all of the first multiprocessors"
    assert len(set(numbers(shown))) == len(shown), "no block twice"
    assert not any("[" in e["name"] for e in timeline.operations + timeline.blocks), "everything has ended"


def never_ended(timeline, kernel, why):
    assert "[never ended]" in kernel["name"] and kernel["args"]["ended"] == why, kernel
    assert kernel["dur"] > 0 and abs(kernel["ts"] + kernel["dur"] - timeline.end) <= EPSILON, (kernel, timeline.end)
    blocks = timeline.blocks_of(kernel)
    assert len(blocks) == kernel["args"]["blocks"] and kernel["args"]["blocks_ended"] == 0, kernel
    assert all("[never ended]" in b["name"] and abs(b["ts"] + b["dur"] - timeline.end) <= EPSILON for b in blocks), blocks


def deadlock(tool):
    done, timeline = run(tool, "deadlock")
    assert done.returncode == 1 and "deadlock" in done.stderr, done
    check_rows(timeline)
    never_ended(timeline, timeline.kernel("waits"), "deadlock")
    assert timeline.kernel("few")["args"]["ended"] == "finished", "the one before it; the one behind it never began"
    behind = [e for e in timeline.instants if e["name"].startswith("few(") and "[never began]" in e["name"]]
    assert len(behind) == 1 and timeline.row(behind[0]) == timeline.row(timeline.kernel("waits")), timeline.instants


def fault(tool):
    done, timeline = run(tool, "fault")
    assert done.returncode == 1 and "out_of_bounds" in done.stderr, done
    check_rows(timeline)
    kernel = timeline.kernel("stores_outside")
    assert "[fault]" in kernel["name"] and kernel["args"]["ended"] == "illegal_address", kernel
    blocks = {e["name"] for e in timeline.blocks_of(kernel)}
    assert "stores_outside block 1 [never ended]" in blocks, blocks
    assert len(timeline.kernels("few")) == 1, "what never began has no span"


def budget(tool):
    done, timeline = run(tool, "endless", "--budget", "300000")
    assert done.returncode == 1 and "budget" in done.stderr, done
    check_rows(timeline)
    never_ended(timeline, timeline.kernel("counts_for_ever"), "budget")


def timeout(tool):
    """The launcher ends the processes: the machine does not know why they leave."""
    done, timeline = run(tool, "endless", "--timeout", "2")
    assert done.returncode != 0, done
    check_rows(timeline)
    kernel = timeline.kernel("counts_for_ever")
    never_ended(timeline, kernel, kernel["args"]["ended"])
    assert kernel["args"]["ended"] in ("its process has left", "the run has ended"), kernel


if __name__ == "__main__":
    {"ends": ends, "deadlock": deadlock, "fault": fault, "budget": budget, "timeout": timeout}[sys.argv[2]](sys.argv[1])
