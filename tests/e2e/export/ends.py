#!/usr/bin/env python3
"""How an exported folder ends where something is missing or wrong: one line that helps, and an exit code.

Usage: ends.py FABRICBENCH
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PROBLEM = "push_copy"
CAN_NOT_RUN, HANG, DIED = 2, 3, 4
SECONDS = 300


class Folder:
    def __init__(self, fabricbench, path):
        self.fabricbench, self.path = fabricbench, Path(path)
        self.call("export", PROBLEM, "-o", path)
        self.reference = (self.path / "reference.cu").read_text()
        for extra in ("reference.cu", "baseline.cu", "alternative.cu"):
            (self.path / extra).unlink(missing_ok=True)

    def call(self, *words, expect=0, cwd=None, env=None):
        ran = subprocess.run([self.fabricbench, *words], cwd=cwd, capture_output=True, text=True, timeout=SECONDS, check=False,
                             env={**os.environ, **(env or {})})
        assert ran.returncode == expect, f"{words} ends with {ran.returncode}:\n{ran.stdout}{ran.stderr}"
        return ran.stdout + ran.stderr

    def make(self, *words, env=None):
        done = subprocess.run(["make", "-C", self.path, f"NVCC={self.fabricbench}-nvcc", *words], capture_output=True,
                              text=True, timeout=SECONDS, check=False, env={**os.environ, **(env or {})})
        return done.returncode, done.stdout + done.stderr

    def solution(self, edit=None):
        """The reference, with (text, its replacement)."""
        text = self.reference
        if edit:
            assert text.count(edit[0]) == 1, edit
            text = text.replace(*edit)
        (self.path / "solution.cu").write_text(text)
        code, output = self.make()
        assert code == 0, output

    def run(self, *words, ranks=2, expect=0, says=""):
        """In one process that forks the ranks."""
        output = self.call("exec", "--ranks", "1", "./run", "--", "-n", str(ranks), "--quick", *words, expect=1 if expect else 0, cwd=self.path)
        self.ends(output, expect)
        assert says in output, f"{words}: {says!r} is missing:\n{output}"
        return output

    @staticmethod
    def ends(output, expect):
        # What exec says of rank 0, which is the process that was started.
        code = re.search(r"rank 0 exited with (\d+)", output)
        assert (int(code[1]) if code else 0) == expect, f"exit code {code and code[1]}, not {expect}:\n{output}"


def case_right(folder):
    folder.solution()
    folder.run(says="all right")
    folder.run("--sizes", "nothing", expect=CAN_NOT_RUN, says="the problem has no such size; it has: ")
    folder.run("--callls", "3", expect=CAN_NOT_RUN, says="--callls is unknown (./run --help)")
    folder.run("--calls", "0", expect=CAN_NOT_RUN, says="--calls takes a number from 1, not '0'")
    folder.run("nothing.so", expect=CAN_NOT_RUN, says="nothing.so: cannot open")
    folder.run(ranks=9, expect=CAN_NOT_RUN, says="there are 8 GPUs for 9 ranks: start at most 8 (-n)")


def case_disk_full(folder):
    folder.solution()
    (folder.path / "full.json").symlink_to("/dev/full")
    folder.run("--results", "full", expect=CAN_NOT_RUN, says="full.json can't be written: No space left on device")
    folder.run("--results", "/no/such/folder/x", expect=CAN_NOT_RUN, says="/no/such/folder/x.json can't be written: No such file")


def case_no_gpu(folder):
    folder.solution()
    alone = subprocess.run(["./run", "-n", "1", "--quick"], cwd=folder.path, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert alone.returncode == CAN_NOT_RUN and "no GPU is found here" in alone.stderr, (alone.returncode, alone.stdout, alone.stderr)


def case_hang(folder):
    folder.solution(("  void run(", "  void run(const Args&, cudaStream_t) { for (volatile int k = 0;;) k = 0; }\n  void never("))
    output = folder.run("--seconds", "3", expect=HANG, says="no end in the time of --seconds: solution, size ")
    assert "rank 1: no end" in output, output


def case_dead_rank(folder):
    folder.solution(("  void run(", "  void run(const Args&, cudaStream_t) { if (getenv(\"RANK\")[0] == '1') abort(); }\n  void never("))
    folder.run(expect=DIED, says="rank 1 died: Aborted")


def case_throws(folder):
    folder.solution(("  void run(", "  void run(const Args&, cudaStream_t) { throw std::runtime_error(\"a text of its own\"); }\n  void never("))
    folder.run(expect=DIED, says="a text of its own (at solution, size ")


def case_wrong(folder):
    folder.solution(("  void run(", "  void run(const Args&, cudaStream_t) {}\n  void never("))
    output = folder.run(expect=1, says="WRONG")
    assert re.search(r"call 1: \w+\[[\d, ]+\] on rank \d is .*, expected .*; \d+ of its \d+ elements are wrong", output), output


def case_does_not_compile(folder):
    (folder.path / "solution.cu").write_text(folder.reference.replace("void run(", "void run(int x; "))
    code, output = folder.make()
    assert code == 2 and "solution.cu:" in output and "error" in output.lower(), (code, output)


def case_no_nvcc(folder):
    code, output = folder.make("NVCC=no-such-nvcc")
    assert code == 2 and "no-such-nvcc is not found: install NVIDIA's CUDA toolkit, or make NVCC=/path/to/nvcc" in output, (code, output)


def case_other_problem(folder):
    folder.solution()
    with tempfile.TemporaryDirectory() as scratch:
        other = Path(scratch) / "other"
        folder.call("export", "all_to_all_variable", "-o", str(other), "--no-reference")
        (other / "Makefile").write_text((folder.path / "Makefile").read_text())
        done = subprocess.run(["make", "-C", other, f"NVCC={folder.fabricbench}-nvcc", "solution.so"], capture_output=True, text=True,
                              timeout=SECONDS, check=False)
        assert done.returncode == 0, done.stderr
        folder.run(str(other / "solution.so"), expect=CAN_NOT_RUN, says="was made for another problem: its Args differ")


def case_exporting(folder):
    """Of the command itself."""
    output = folder.call("export", PROBLEM, "-o", str(folder.path), expect=2)
    assert "is not empty: name another folder, or --force" in output, output
    (folder.path / "wrong.cu").write_text("int x;\n")
    output = folder.call("export", PROBLEM, "-o", str(folder.path / "new"), "--solution", str(folder.path / "wrong.cu"), expect=2)
    assert not (folder.path / "new").exists() and "Solution" in output, output
    assert "there is no such file" in folder.call("export", PROBLEM, "--solution", "/no/such.cu", expect=2)
    assert "name a problem (fabricbench list), or say --all" in folder.call("export", expect=2)
    assert "did you mean 'push_copy'" in folder.call("export", "push_cop", expect=2)


def main():
    fabricbench = os.path.abspath(sys.argv[1])
    names = sys.argv[2:] or [name[5:] for name in globals() if name.startswith("case_")]
    for name in names:
        with tempfile.TemporaryDirectory() as scratch:
            globals()[f"case_{name}"](Folder(fabricbench, f"{scratch}/folder"))
        print(f"{name} OK", flush=True)


main()
