#!/usr/bin/env python3
"""What commands do on a terminal: lists that fit it, and progress that leaves nothing behind.

Usage: terminal_test.py FABRICBENCH PROBLEMS
"""
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import tempfile
import unicodedata

TOOL, PROBLEMS = sys.argv[1:]
ERASE = b"\r\x1b[K"


def on_terminal(arguments, stream, columns, interrupt_at=None, **variables):
    """Exit code, what the terminal behind `stream` ("stdout" or "stderr") got, what the other stream got."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: theirs}
    process = subprocess.Popen([TOOL, *arguments], stdin=subprocess.DEVNULL, **streams,
                               env={**os.environ, "TERM": "xterm", **variables})
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
        if interrupt_at is not None and interrupt_at in shown:
            process.send_signal(signal.SIGINT)
            interrupt_at = None
    other = (process.stdout or process.stderr).read()
    os.close(ours)
    return process.wait(timeout=100), shown, other


def width(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def lists():
    whole = subprocess.run([TOOL, "list", "--problems", PROBLEMS], capture_output=True, text=True, check=True).stdout
    titles = [line.rsplit("  ", 1)[1] for line in whole.splitlines()]
    assert max(map(width, whole.splitlines())) > 120 and "…" not in whole, "the pack has no long titles"
    for columns in (60, 80, 120):
        code, shown, _ = on_terminal(["list", "--problems", PROBLEMS], "stdout", columns)
        lines = shown.decode().replace("\r\n", "\n").splitlines()
        assert code == 0 and len(lines) == len(titles), shown
        begin = lines[0].index("title")
        for line, title, row in zip(lines, titles, whole.splitlines()):
            assert width(line) <= columns, line
            assert line.split()[0] == row.split()[0], "names are whole"
            assert line[begin - 2:begin] == "  " and title.startswith(line[begin:].rstrip("…")), line
        assert any(line.endswith("…") for line in lines)
    # A terminal that does not know its width, as some in CI.
    _, shown, _ = on_terminal(["list", "--problems", PROBLEMS], "stdout", 0, COLUMNS="70")
    assert 60 < max(map(width, shown.decode().splitlines())) <= 70, shown


def expect_erased(shown, *parts):
    text = shown.decode()
    for part in parts:
        assert part in text, f"{part}: {text!r}"
    assert shown.endswith(ERASE), f"something is left: {shown[-200:]!r}"
    # One line, which is rewritten: there is no line break in it.
    assert b"\n" not in shown, shown
    for line in re.split(r"\r\x1b\[K", text):
        assert width(line) < 60, line


def progress():
    reference = os.path.join(PROBLEMS, "comm/p2p/push_copy/reference.cu")
    check = ["check", "--quick", "--problems", PROBLEMS, "push_copy", reference]
    code, shown, verdict = on_terminal(check, "stderr", 60)
    assert code == 0 and verdict.startswith(b"PASS"), verdict
    expect_erased(shown, "check: push_copy: building", "check: push_copy: running sessions: 2 of 2")
    # No terminal, no word.
    code, shown, silent = on_terminal(check, "stdout", 60)
    assert code == 0 and silent == b"" and b"running" not in shown, (shown, silent)

    code, shown, said = on_terminal(["dev", "prove", "--quick", "--problems", PROBLEMS, "push_copy"], "stderr", 60)
    assert code == 0 and said.endswith(b"1 of 1 problems: quick checks hold\n"), said
    expect_erased(shown, "prove: push_copy (1 of 1): reference passes")

    code, shown, said = on_terminal(["dev", "mutate", "--quick", "--limit", "2", "--problems", PROBLEMS, "push_copy"], "stderr",
                                    60)
    assert code == 0, said
    expect_erased(shown, "mutate: push_copy (1 of 1): judging the reference", "compiling: 1 of 3 mutants")

    code, shown, said = on_terminal(["dev", "times", "--problems", PROBLEMS, "push_copy"], "stderr", 60)
    assert code == 0 and b"push_copy" in said, said
    expect_erased(shown, "times: push_copy: 0 of 1 problems")


def interrupted():
    """Ctrl-C erases the line, too, and ends the program as a signal does."""
    reference = os.path.join(PROBLEMS, "comm/collective/all_reduce_ring/reference.cu")
    with tempfile.TemporaryDirectory() as cache:
        code, shown, verdict = on_terminal(["check", "--problems", PROBLEMS, "all_reduce_ring", reference], "stderr", 60,
                                           interrupt_at=b"building", FABRICBENCH_CACHE=cache)
    assert code == -signal.SIGINT and verdict == b"", (code, verdict)
    expect_erased(shown, "check: all_reduce_ring: building")


def main():
    lists()
    progress()
    interrupted()


if __name__ == "__main__":
    main()
