#!/usr/bin/env python3
"""The same seed gives the same run: compares event_log_hash of the records of many runs.

Usage: determinism.py FABRICBENCH repeats|under_load|renamed|seeds|host_polling [RUNS]
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
EXAMPLE = "10_one_shot_all_reduce.cu"
POLLING_EXAMPLE = "16_device_to_host_fifo.cu"


def find(record, key):
    """The value of a key, wherever in the record it is."""
    if isinstance(record, dict):
        if key in record:
            return record[key]
        record = list(record.values())
    if isinstance(record, list):
        for value in record:
            found = find(value, key)
            if found is not None:
                return found
    return None


def record_of(tool, seed, directory, example=EXAMPLE, ranks=4):
    path = os.path.join(directory, "record.json")
    command = [tool, "exec", "--platform", "h100x8", "--ranks", str(ranks), "--seed", str(seed), "--record", path,
               os.path.join("examples", example)]
    run = subprocess.run(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if run.returncode != 0:
        sys.exit(f"{run.stdout}\nexit code {run.returncode}")
    with open(path) as file:
        record = json.load(file)
    os.remove(path)
    return record


def hash_of(tool, seed, directory):
    value = find(record_of(tool, seed, directory), "event_log_hash")
    if not value:
        sys.exit("the record has no event_log_hash")
    return value


def require_one(hashes):
    print("\n".join(f"{hashes.count(h):3} × {h}" for h in sorted(set(hashes), key=str)))
    if len(set(hashes)) != 1:
        sys.exit(f"{len(set(hashes))} different hashes in {len(hashes)} runs of one seed")


def repeats(tool, directory, runs):
    require_one([hash_of(tool, 7, directory) for _ in range(runs)])


def under_load(tool, directory, runs):
    """Busy processes come and go: half of the runs have company."""
    quiet = [hash_of(tool, 7, directory) for _ in range(2)]
    load = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        loaded = [hash_of(tool, 7, directory) for _ in range(max(2, runs // 4))]
    finally:
        for process in load:
            process.kill()
            process.wait()
    require_one(quiet + loaded)


def renamed(tool, directory, _runs):
    first = hash_of(tool, 7, directory)
    other = directory + "_with_another_and_longer_name"
    os.rename(directory, other)
    try:
        second = hash_of(tool, 7, other)
    finally:
        os.rename(other, directory)
    require_one([first, second])


def seeds(tool, directory, runs):
    hashes = [hash_of(tool, seed, directory) for seed in range(1, runs // 2 + 1)]
    print(f"{len(set(hashes))} different interleavings in {len(hashes)} seeds")
    if len(set(hashes)) < 2:
        sys.exit("all seeds gave the same run")


def host_polling(tool, directory, _runs):
    plain = find(record_of(tool, 7, directory), "replayable")
    polling = find(record_of(tool, 7, directory, POLLING_EXAMPLE, ranks=1), "replayable")
    print(f"replayable: {plain} for {EXAMPLE}, {polling} for {POLLING_EXAMPLE}")
    if plain is not True or polling is not False:
        sys.exit("expected true and false")


def main():
    tool, check = os.path.abspath(sys.argv[1]), sys.argv[2]
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    parent = tempfile.mkdtemp(prefix="determinism_")
    directory = os.path.join(parent, "work")
    try:
        shutil.copytree(os.path.join(ROOT, "examples"), os.path.join(directory, "examples"))
        {f.__name__: f for f in (repeats, under_load, renamed, seeds, host_polling)}[check](tool, directory, runs)
    finally:
        shutil.rmtree(parent)


main()
