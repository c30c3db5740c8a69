#!/usr/bin/env python3
"""librdmacm between two virtual nodes: Debian's programs of it (rdmacm-utils, perftest with -R) run unmodified, and uses and
misuses have the errno, the events and the statuses that Linux gives.

usage: run_rdmacm.py FABRICBENCH uses|programs|perftest|ranks"""

import re
import socket
import subprocess
import sys
from pathlib import Path

TOOL, SUITE = sys.argv[1:3]
HERE = Path(__file__).parent
# A server on the first node, a client on the second: it starts when the server listens, at a port of RDMA (a socket with a
# name of the run) or of TCP.
SCRIPT = ("if [ $RANK = 0 ]; then exec SERVER; fi; run=$(basename $(dirname $FABRICBENCH_SOCKET)); "
          "until grep -q \"LISTENS\" /proc/net/unix /proc/net/tcp /proc/net/tcp6 || [ $((n += 1)) -gt 200 ]; do sleep 0.1; done; "
          "exec CLIENT")
OF_RDMA = " 00010000 0005 01 .*@fabricbench.rdma_cm/$run/.*/{port}/"
OF_TCP = ":{port:04X} 0*:0000 0A"


def call(*words):
    done = subprocess.run([TOOL, "exec", "--platform", "h100x8_2nodes", *words], capture_output=True, text=True, timeout=200)
    text = done.stdout + done.stderr
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: exit code {done.returncode}\n{text}")
    return text


def free_port():
    """A port that nothing listens on: other tests run beside this one."""
    with socket.socket() as s:
        s.bind(("", 0))
        return s.getsockname()[1]


def between_nodes(server, client, listens=OF_RDMA, options=(), port=None):
    port = port or free_port()
    script = SCRIPT.replace("SERVER", server).replace("CLIENT", client).replace("PORT", str(port))
    return call(*options, "--ranks", "2", "/bin/sh", "--", "-c", script.replace("LISTENS", listens.format(port=port)))


def expect(holds, what, text):
    if not holds:
        sys.exit(f"{what}\n{text}")


def uses():
    for program, count in (("rdmacm_uses.cu", 140), ("rdmacm_connections.cu", 100)):
        for options in ([], ["--virtual-clock"], ["--check"]):
            text = call(*options, "--ranks", "1", str(HERE / program), "-lrdmacm", "-libverbs")
            found = re.search(r"(\d+) checks, 0 failed", text)
            expect(found and int(found[1]) > count, f"{program} {options}: all checks hold", text)


def programs():
    # Without cards there is nothing to connect.
    done = subprocess.run([TOOL, "exec", "--platform", "h100x8", "--ranks", "1", "/bin/sh", "--", "-c", "exec rping -s"],
                          capture_output=True, text=True, timeout=100)
    expect(done.returncode != 0 and "No RDMA devices were detected" in done.stderr, "a node without cards", done.stderr)

    for server, client in (("rdma_server -p PORT", "rdma_client -s 127.0.0.1 -p PORT"),
                           ("rdma_xserver -p PORT", "rdma_xclient -s localhost -p PORT"),
                           ("rdma_xserver -c x -p PORT", "rdma_xclient -c x -s 127.0.0.1 -p PORT")):
        text = between_nodes(server, client)
        expect(text.count(": end 0") == 2, f"{client}: both ends finish", text)

    for server, client in (("rping -s -C 10 -v -V -p PORT", "rping -c -a 127.0.0.1 -C 10 -v -V -p PORT"),
                           ("rping -s -q -C 10 -v -V -p PORT", "rping -c -q -a 127.0.0.1 -C 10 -v -V -p PORT"),
                           ("rping -s -a :: -C 10 -v -V -S 5000 -p PORT", "rping -c -a ::1 -C 10 -v -V -S 5000 -p PORT")):
        text = between_nodes(server, client)
        expect(len(re.findall(r"ping data: rdma-ping-\d", text)) == 20, f"{client}: ten pings and their answers", text)

    # These have a port of their own.
    for server, client, port in (("ucmatose", "ucmatose -s 127.0.0.1", 7471),
                                 ("ucmatose -c 4 -C 20 -S 4000 -m", "ucmatose -s 127.0.0.1 -c 4 -C 20 -S 4000 -m", 7471),
                                 ("udaddy", "udaddy -s 127.0.0.1", 7174),
                                 ("udaddy -c 3 -C 5 -S 2000", "udaddy -s localhost -c 3 -C 5 -S 2000", 7174)):
        text = between_nodes(server, client, port=port)
        expect(text.count("data transfers complete") == 2 and text.count("return status 0") == 2,
               f"{client}: both ends finish", text)


def perftest():
    for program, figure, wanted in (("ib_write_bw -n 500 -s 65536", 3, 46720), ("ib_send_bw -n 500 -s 65536", 3, 46720),
                                    ("ib_send_lat -n 50 -s 2", 4, 1.20), ("ib_send_bw -c UD -n 50 -s 2048", 3, None),
                                    ("ib_read_bw -n 50 -q 4 -s 4096", 3, None), ("ib_atomic_bw -n 50", 3, None)):
        port = free_port()
        text = between_nodes(f"{program} -R -p {port}", f"{program} -R -p {port} localhost", OF_TCP, ["--virtual-clock"], port)
        rows = [line.split() for line in text.splitlines() if re.match(r"^\s*\d+\s+\d+\s+[\d.]+\s+[\d.]+", line)]
        expect(len(rows) == 2, f"{program} -R: a row of figures on each side", text)
        # As without -R (run_programs.py), by the client's clock.
        expect(wanted is None or any(abs(float(row[figure]) / wanted - 1) < 0.02 for row in rows),
               f"{program} -R: about {wanted} expected", text)


def of_ranks(name, count, *options):
    done = subprocess.run([TOOL, "exec", "--platform", "h100x8_2nodes", "--ranks", str(count), *options,
                           str(HERE / "rdmacm_ranks.cu"), "-lrdmacm", "-libverbs", "--", name, "7600"],
                          capture_output=True, text=True, timeout=200)
    return done.returncode, done.stdout + done.stderr


def ranks():
    for name, count, options in (("all_to_all", 16, ()), ("all_to_all", 4, ("--virtual-clock",)), ("peer_ends", 2, ()),
                                 ("told_by_disconnecting", 2, ("--check", "--schedules", "5"))):
        code, text = of_ranks(name, count, *options)
        expect(code == 0 and "race" not in text and text.count(": over") == count, f"{name}: exit code {code}", text)
    line = next(n for n, text in enumerate((HERE / "rdmacm_ranks.cu").read_text().splitlines(), 1) if "// read too early" in text)
    code, text = of_ranks("read_too_early", 2, "--check")
    expect(code != 0 and "race: unordered read/write" in text and f"rdmacm_ranks.cu:{line}" in text, "a race", text)
    no_event = "deadlock: waits for an event that does not come: "
    for name, says in (("nothing_connects", [no_event, "rank 0 waits for an event of a connection", "(rdma_get_cm_event), at "]),
                       ("not_accepted", [no_event, "rank 0: a host thread waits for an event of a connection",
                                         "rank 1: a host thread waits for an event of a connection"]),
                       ("not_acknowledged", [no_event, "rank 0 destroys an identifier of which 1 event has not been acknowledged"]),
                       ("disconnect_not_answered", ["deadlock: ", "rank 1: a host thread waits for an event of a connection"])):
        code, text = of_ranks(name, 2)
        expect(code != 0 and all(word in text for word in says), f"{name}: {says}", text)


{"uses": uses, "programs": programs, "perftest": perftest, "ranks": ranks}[SUITE]()
