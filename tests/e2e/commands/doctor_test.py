#!/usr/bin/env python3
"""`fabricbench doctor`, here and where something is missing: what it finds, the command that helps, the exit code.

Usage: doctor_test.py FABRICBENCH
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOOL = sys.argv[1]


def doctor(*options, **variables):
    """Exit code, standard output."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FABRICBENCH_")}
    environment.update(variables)
    done = subprocess.run([TOOL, "doctor", *options], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=250, check=False)
    assert done.stderr == "", done.stderr
    return done.returncode, done.stdout


def diagnosis(code, **variables):
    """Findings by name, and what can run; the exit code is as it should be."""
    got, text = doctor("--json", **variables)
    value = json.loads(text)
    assert value["schema"] == 1, text
    assert got == code == (0 if value["exec"] and value["check"] else 1), f"exit code {got}\n{text}"
    return {finding["name"]: finding for finding in value["findings"]}, (value["exec"], value["check"])


def expect(finding, state, text="", remedy=""):
    assert finding["state"] == state and text in finding["text"] and remedy in finding["remedy"], finding


def script(folder, text):
    path = os.path.join(folder, "compiler")
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)
    return path


def here():
    code, text = doctor()
    assert code == 0, text
    assert text.endswith("\nexec and check can run here.\n"), text
    lines = text.splitlines()
    for name in ("installation", "compiler", "linker", "C++ library", "CCCL", "sandbox", "processors", "memory",
                 "shared memory", "cache", "nvcc", "MPI", "Slurm", "npm", "exec", "check"):
        (line,) = [line for line in lines if line[:14] == name.ljust(14)]
        assert line[14:18].strip() in ("ok", "-", "warn"), line
    # A line may be longer only for a word, such as a path, or a command that is to be copied.
    for line in lines:
        assert len(line) <= 80 or len(line.split()) <= 3 or line.startswith(" "), line


def missing(folder):
    clang = shutil.which("clang++-19")
    bwrap = shutil.which("bwrap")
    os.symlink(bwrap, os.path.join(folder, "bwrap"))

    found, runs = diagnosis(1, PATH=folder)
    assert runs == (False, False)
    expect(found["compiler"], "failed", "clang++-19 not found in PATH", "apt install clang-19")
    expect(found["sandbox"], "ok")
    expect(found["exec"], "failed", "can't run without compiler")
    expect(found["MPI"], "absent", "exec --mpi", "apt install openmpi-bin")

    found, runs = diagnosis(1, PATH="/nowhere", FABRICBENCH_CLANG=clang)
    assert runs == (True, False)
    expect(found["sandbox"], "failed", "bwrap was not found in PATH", "apt install bubblewrap")
    expect(found["check"], "failed", "can't run without sandbox")
    expect(found["exec"], "ok")

    os.unlink(os.path.join(folder, "bwrap"))
    os.rename(script(folder, 'echo "bwrap: No permissions to create new namespace"\nexit 1\n'),
              os.path.join(folder, "bwrap"))
    found, runs = diagnosis(1, PATH=folder, FABRICBENCH_CLANG=clang)
    assert runs == (True, False)
    expect(found["sandbox"], "failed", "No permissions to create new namespace")
    assert re.search("sysctl -w [a-z_.]+=[0-9]+|docker run --security-opt", found["sandbox"]["remedy"]), found["sandbox"]

    no_linker = script(folder, f'case "$*" in *-fuse-ld=lld*) echo "invalid linker name"; exit 1;; esac\nexec {clang} "$@"\n')
    found, runs = diagnosis(1, FABRICBENCH_CLANG=no_linker)
    assert runs == (False, False)
    expect(found["linker"], "failed", "invalid linker name", "apt install lld-19")

    # clang takes the newest GCC that is installed, with or without its C++ library.
    no_library = script(folder, 'case "$*" in *-include*) echo "Selected GCC installation: /usr/lib/gcc/x86_64-linux-gnu/14";'
                                f' exit 1;; esac\nexec {clang} "$@"\n')
    found, runs = diagnosis(1, FABRICBENCH_CLANG=no_library)
    expect(found["C++ library"], "failed", "not found", "apt install libstdc++-14-dev")

    old = script(folder, 'echo "Debian clang version 14.0.6"\nexit 0\n')
    expect(diagnosis(1, FABRICBENCH_CLANG=old)[0]["compiler"], "warning", "tested with clang 19", "apt install clang-19")
    none = script(folder, 'echo "hello"\n')
    expect(diagnosis(1, FABRICBENCH_CLANG=none)[0]["compiler"], "failed", "is no clang: hello", "apt install clang-19")


def broken():
    found, runs = diagnosis(1, FABRICBENCH_MACHINE="/nowhere/machine")
    assert runs == (False, False)
    expect(found["installation"], "failed", "FABRICBENCH_MACHINE names no program: /nowhere/machine")
    # All is found, and a judgement fails: a pack without the problem.
    with tempfile.TemporaryDirectory() as pack:
        with open(os.path.join(pack, "pack.toml"), "w", encoding="utf-8") as file:
            file.write('name = "empty"\nversion = "1"\n')
        found, runs = diagnosis(1, FABRICBENCH_PROBLEMS=pack)
        assert runs == (True, False)
        expect(found["check"], "failed", "no problem is called 'push_copy'")


def without_cache():
    found, _ = diagnosis(0, FABRICBENCH_CACHE="/dev/null/cache")
    expect(found["cache"], "warning", "/dev/null/cache can't be written", "export FABRICBENCH_CACHE=")
    found, _ = diagnosis(0, XDG_CACHE_HOME="/dev/null")
    expect(found["cache"], "warning", "/dev/null/fabricbench can't be written, /tmp/fabricbench-cache-")


def main():
    here()
    with tempfile.TemporaryDirectory() as folder:
        missing(folder)
    broken()
    without_cache()


if __name__ == "__main__":
    main()
