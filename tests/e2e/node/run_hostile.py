#!/usr/bin/env python3
"""Runs a program of hostile/ and checks what becomes of it.

The run must end by itself, with an exit code other than 0, and its output must name the cause and the rank. Afterwards no
process, socket, shared memory or file of the run may be left.

Usage: run_hostile.py FABRICBENCH CASE [--timed]        --timed: within 2 s after the program's line `begin rank N`
"""
import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from typing import NamedTuple

SECONDS = 60.0  # ends a hang
TIMED_SECONDS = 2.0
COMPILE_SECONDS = 60
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "candidates"))
from left_behind import isolate  # noqa: E402


class Case(NamedTuple):
    program: str
    ranks: int
    words: list  # regular expressions, all to be found in the output, whatever the case of letters
    arguments: list = []
    options: list = []


CASES = {
    "killed_in_kernel": Case("killed_in_kernel", 2, [r"rank 1\b", r"killed|SIGKILL|signal 9"]),
    "exits_early": Case("exits_early", 2, [r"rank [01]\b", r"exit|left|ended|deadlock|waits? for"]),
    "garbage_to_socket": Case("garbage_to_socket", 2, [r"message|protocol|garbage|malformed"]),
    "garbage_to_own_socket": Case("garbage_to_socket", 2, [r"rank 1\b", r"message|protocol|garbage"], ["mine"]),
    "allocates_device_memory": Case("allocates_device_memory", 1, [r"rank 0\b", r"memory"]),
    "allocates_host_memory": Case("allocates_host_memory", 1, [r"rank 0\b", r"memory|bad_alloc"],
                                  options=["--rank-memory", "512M"]),
    "floods": Case("floods", 1, [r"rank 0\b", r"flood|requests|too many|time"], options=["--timeout", "1"]),
    "deadlock": Case("deadlock", 2, [r"deadlock", r"rank 0\b", r"rank 1\b"]),
    "endless_kernel": Case("endless_kernel", 1, [r"rank 0\b", r"budget|instructions|time"], options=["--timeout", "1"]),
}


def processes_with(mark):
    """Every process of the run has inherited the mark in its environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                environment = file.read()
            with open(f"/proc/{pid}/stat") as file:
                state = file.read().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if mark.encode() in environment and state != "Z":
            found.append(int(pid))
    return found


def traces(directory):
    """What is left: entries of the run's own temporary directory, sockets in it, and names in shared memory."""
    names = {os.path.join(directory, name) for name in os.listdir(directory)}
    with open("/proc/net/unix") as file:
        names |= {line.split()[-1] for line in file if directory in line}
    if os.path.isdir("/dev/shm"):
        names |= {os.path.join("/dev/shm", name) for name in os.listdir("/dev/shm") if "fabricbench" in name}
    return names


def run(command, environment):
    """Returns output, exit code (None: it had to be stopped) and the seconds since the program's begin."""
    started = time.monotonic()
    begun = None
    output = b""
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            now = time.monotonic()
            limit = begun + SECONDS if begun else started + COMPILE_SECONDS
            if now > limit:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(5)
                except subprocess.TimeoutExpired:
                    process.kill()
                return output, None, now - (begun or started)
            if selector.select(limit - now):
                data = os.read(process.stdout.fileno(), 65536)
                output += data
                if begun is None and b"begin rank" in output:
                    begun = time.monotonic()
                if not data:
                    code = process.wait(SECONDS)
                    return output, code, time.monotonic() - (begun or started)


def main():
    isolate()
    tool, name = sys.argv[1:3]
    case = CASES[name]
    mark = f"FABRICBENCH_TEST_MARK={uuid.uuid4()}"
    directory = tempfile.mkdtemp(prefix="hostile")
    environment = dict(os.environ, TMPDIR=directory, **dict([mark.split("=")]))
    command = [tool, "exec", "--platform", "h100x8", "--ranks", str(case.ranks), *case.options,
               os.path.join(HERE, "hostile", case.program + ".cu")]
    if case.arguments:
        command += ["--"] + case.arguments

    before = traces(directory)
    output, code, seconds = run(command, environment)
    text = output.decode(errors="replace")
    print(text)
    print(f"exit code {code} after {seconds:.2f} s")

    problems = []
    if "begin rank" not in text:
        problems.append("the program has not begun")
    if code is None:
        problems.append(f"still running {SECONDS:.0f} s after its begin")
    elif code == 0:
        problems.append("the exit code is 0")
    elif "--timed" in sys.argv and seconds > TIMED_SECONDS:
        problems.append(f"took {seconds:.2f} s")
    said = re.sub(r"^.*begin rank.*$", "", text, flags=re.MULTILINE)
    problems += [f"the output does not say /{word}/" for word in case.words if not re.search(word, said, re.IGNORECASE)]

    left = processes_with(mark)
    problems += [f"process {pid} is left" for pid in left]
    for pid in left:  # the mark makes them this run's own
        os.kill(pid, signal.SIGKILL)
    problems += [f"{trace} is left" for trace in sorted(traces(directory) - before)]
    shutil.rmtree(directory)
    for problem in problems:
        print("FAIL", problem)
    sys.exit(1 if problems else 0)


main()
