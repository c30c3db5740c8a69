#!/usr/bin/env python3
"""fabricbench-rank --zygote: what a rank that is forked can reach, and that it leaves nothing.

The ranks here never get further than their first connection, which is not answered.
Usage: zygote_test.py FABRICBENCH_RANK CASE
"""
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

NAMESPACES = ("pid", "mnt", "ipc", "net", "uts")
LIMIT = 30  # seconds
OBJECT = os.path.realpath("/lib/x86_64-linux-gnu/libm.so.6")  # stands for a candidate: it is copied, not loaded


def receive(end):
    assert select.select([end], [], [], LIMIT)[0], "no answer"
    text, descriptors, _, _ = socket.recv_fds(end, 1000, 4)
    return text.decode(), descriptors


def soon(what, holds):
    until = time.time() + LIMIT
    while not holds():
        assert time.time() < until, what
        time.sleep(0.01)


class Rank:
    """The first process of its namespaces is `first`, the rank itself `pid`."""

    def __init__(self, session, folder, change=lambda words: words):
        out, out_end = os.pipe()
        err, err_end = os.pipe()
        self.end, end_end = os.pipe()
        self.output = (out, err)
        place = tempfile.mkdtemp(dir=folder)
        cell, path = os.path.join(place, "cell"), os.path.join(place, "sock")
        os.mkdir(cell)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen()
        words = ["folder", cell, "file", OBJECT, "/fabricbench/candidate.so",
                 "socket", path, "/fabricbench/machine.sock",
                 "variable", "WORLD_SIZE", "2", "variable", "RANK", "1", "variable", "LOCAL_RANK", "1",
                 "variable", "FABRICBENCH_SOCKET", "/fabricbench/machine.sock", "tmp", str(1 << 20), "data", str(1 << 30)]
        for argument in ("--candidate", "/fabricbench/candidate.so", "--confine", "--cpu", "10", "--processes", "64"):
            words += ["argument", argument]
        words = change(words)
        socket.send_fds(session.end, ["".join(word + "\0" for word in words).encode()], [out_end, err_end, end_end])
        for one in (out_end, err_end, end_end):
            os.close(one)
        self.answer, self.handles = receive(session.end)
        self.first = int(self.answer)
        self.pid, self.listener, self.session = None, listener, session  # which ends with the last that needs it

    def connects(self):
        """Waits until the candidate's process talks to the machine: then its filter is loaded."""
        self.listener.settimeout(LIMIT)
        self.connection, _ = self.listener.accept()
        with open(f"/proc/{self.first}/task/{self.first}/children", encoding="utf-8") as file:
            self.pid, = map(int, file.read().split())
        return self

    def file(self, name):
        with open(f"/proc/{self.pid}/{name}", encoding="utf-8") as file:
            return file.read()

    def status(self):
        return dict(line.split(":\t", 1) for line in self.file("status").splitlines() if ":\t" in line)

    def has_ended(self):
        return bool(select.select(self.handles, [], [], 0)[0])

    def ended(self):
        """Its wait status, the error of its set-up, and the text of that; None: nothing was written."""
        assert select.select(self.handles, [], [], LIMIT)[0], "the rank did not end"
        said = os.read(self.end, 1000)
        if not said:
            return None
        return (*struct.unpack("ii", said[:8]), said[8:].decode())


class Session:
    def __init__(self, control):
        self.end, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        socket.send_fds(control, [b"session"], [theirs.fileno()])
        theirs.close()
        said, (self.user,) = receive(self.end)
        assert said == "ready", said


class Zygote:
    def __init__(self):
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.process = subprocess.Popen([PROGRAM, "--zygote", str(theirs.fileno())], pass_fds=[theirs.fileno()],
                                        env={"SECRET": "of the judge"}, stdin=subprocess.DEVNULL)
        theirs.close()

    def session(self):
        return Session(self.control)

    def children(self):
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="utf-8") as file:
            return file.read().split()

    def living_children(self):
        """Without those that have ended and were not reaped yet."""
        states = {}
        for child in self.children():
            with open(f"/proc/{child}/stat", encoding="utf-8") as file:
                states[child] = file.read().rpartition(")")[2].split()[0]
        return [child for child, state in states.items() if state != "Z"]

    def finish(self):
        self.control.close()
        assert self.process.wait(LIMIT) == 0


def case_cell(zygote, folder):
    """What a rank sees and may do."""
    rank = Rank(zygote.session(), folder).connects()
    status = rank.status()
    assert status["NSpid"].split()[-1] == "2", status
    assert status["Seccomp"] == "2" and status["NoNewPrivs"] == "1", status
    assert all(int(status[name], 16) == 0 for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")), status
    root = f"/proc/{rank.pid}/root"
    assert sorted(os.listdir(root)) == ["dev", "fabricbench", "tmp"], os.listdir(root)
    assert sorted(os.listdir(f"{root}/dev")) == ["full", "null", "random", "urandom", "zero"]
    assert sorted(os.listdir(f"{root}/fabricbench")) == ["candidate.so", "machine.sock"]
    free = os.statvfs(f"{root}/tmp")
    assert os.listdir(f"{root}/tmp") == [] and free.f_blocks * free.f_frsize == 1 << 20
    mounts = {words[4]: words[5].split(",") for words in map(str.split, rank.file("mountinfo").splitlines())}
    assert set(mounts) == {"/", "/tmp", "/fabricbench/machine.sock", *(f"/dev/{name}" for name in os.listdir(f"{root}/dev"))}, mounts
    assert all("ro" in options for at, options in mounts.items() if at != "/tmp"), mounts
    assert all("nosuid" in mounts[at] and "nodev" in mounts[at] for at in ("/", "/tmp")), mounts
    with open(OBJECT, "rb") as wanted, open(f"{root}/fabricbench/candidate.so", "rb") as copy:
        assert wanted.read() == copy.read()
    assert "SECRET" not in rank.file("environ")
    descriptors = {name: os.readlink(f"/proc/{rank.pid}/fd/{name}") for name in os.listdir(f"/proc/{rank.pid}/fd")}
    assert descriptors.pop("0") == "/dev/null" and {descriptors.pop("1")[:5], descriptors.pop("2")[:5]} == {"pipe:"}, descriptors
    assert all(target.startswith("socket:") for target in descriptors.values()) and len(descriptors) == 1, descriptors


def case_separate(zygote, folder):
    """Ranks of one session share a user namespace and nothing else: no namespace, and no page of a file."""
    session, other = zygote.session(), zygote.session()
    ranks = [Rank(one, folder).connects() for one in (session, session, other)]
    for name in NAMESPACES:
        seen = [os.readlink(f"/proc/{rank.pid}/ns/{name}") for rank in ranks] + [os.readlink(f"/proc/self/ns/{name}")]
        assert len(set(seen)) == len(seen), (name, seen)
    users = [os.readlink(f"/proc/{rank.pid}/ns/user") for rank in ranks]
    assert users[0] == users[1] != users[2] and os.readlink("/proc/self/ns/user") not in users, users
    assert os.fstat(session.user).st_ino == int(users[0][6:-1])
    for rank in ranks:
        lines = [line.split() for line in rank.file("maps").splitlines()]
        assert len(lines) > 20 and all(line[4] == "0" for line in lines), rank.file("maps")
    systems = {os.stat(f"/proc/{rank.pid}/root/fabricbench/candidate.so").st_dev for rank in ranks}
    assert len(systems) == 3, systems


def case_ends(zygote, folder):
    """How a rank ended is what the judge reads."""
    session = zygote.session()
    rank = Rank(session, folder).connects()
    assert not rank.has_ended()
    os.kill(rank.pid, signal.SIGABRT)
    assert rank.ended() == (signal.SIGABRT, 0, "")
    rank = Rank(session, folder).connects()
    os.killpg(rank.first, signal.SIGKILL)
    assert rank.ended() in (None, (signal.SIGKILL, 0, ""))
    rank = Rank(session, folder, lambda words: [*words, "argument", "--frobnicate"])
    assert rank.ended() == (1 << 8, 0, "")
    assert b"--frobnicate is unknown" in os.read(rank.output[1], 1000)
    rank = Rank(session, folder, lambda words: ["/nowhere" if word == OBJECT else word for word in words])
    status, error, text = rank.ended()
    assert status == 0 and error == 2 and "/nowhere" in text, (status, error, text)
    # A machine that has ended is no failure of the sandbox: the rank does not reach it.
    rank = Rank(session, folder, lambda words: ["/nowhere/sock" if word.endswith("/sock") else word for word in words])
    assert rank.ended() == (1 << 8, 0, ""), rank.ended()
    assert b"cudaSetDevice" in os.read(rank.output[1], 1000)
    session.end.close()
    zygote.finish()


def case_session_ends(zygote, folder):
    """When the judge's end is closed, or a process on the way is killed, nothing is left."""
    def session_closes():
        session.end.close()

    def session_is_killed():
        child, = zygote.children()
        os.kill(int(child), signal.SIGKILL)

    def zygote_is_killed():
        zygote.process.kill()

    for leave in (session_closes, session_is_killed, zygote_is_killed):
        session = zygote.session()
        ranks = [Rank(session, folder).connects() for _ in range(2)]
        leave()
        soon(f"{leave}: ranks are left", lambda: all(rank.has_ended() for rank in ranks))
        soon(f"{leave}: processes are left", lambda: not any(os.path.exists(f"/proc/{rank.pid}") for rank in ranks))
        session.end.close()
        soon(f"{leave}: the session is left", lambda: zygote.process.poll() or not zygote.living_children())
    assert zygote.process.wait(LIMIT) == -signal.SIGKILL


def case_refuses(zygote, folder):
    """What is no order ends the session, and the zygote goes on."""
    for words in ([], ["frobnicate", "1"], ["tmp", "many"], ["file", "one"]):
        session = zygote.session()
        pipes = [os.pipe()[1] for _ in range(3)]
        socket.send_fds(session.end, ["".join(word + "\0" for word in words).encode() or b"\xff"], pipes)
        assert select.select([session.end], [], [], LIMIT)[0] and not session.end.recv(100), words
    Rank(zygote.session(), folder).connects()


def case_order_of_ends(zygote, folder):
    """Sessions end in any order; the zygote ends when all have, and reaps them."""
    sessions = [zygote.session() for _ in range(3)]
    ranks = [Rank(session, folder).connects() for session in sessions]
    for k in (1, 2, 0):
        sessions[k].end.close()
        soon("a rank is left", ranks[k].has_ended)
        assert [rank.has_ended() for rank in ranks].count(True) == {1: 1, 2: 2, 0: 3}[k]
    zygote.session().end.close()
    zygote.finish()


if __name__ == "__main__":
    PROGRAM, CASE = sys.argv[1:]
    with tempfile.TemporaryDirectory() as place:
        globals()["case_" + CASE](Zygote(), place)
