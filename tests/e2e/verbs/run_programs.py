#!/usr/bin/env python3
"""Debian's programs of verbs (ibverbs-utils, perftest) run unmodified between two virtual nodes. What they print is modelled.

usage: run_programs.py FABRICBENCH pingpong|perftest"""

import re
import socket
import subprocess
import sys

TOOL, SUITE = sys.argv[1:3]
# A server on the first node, a client on the second: it starts when the server listens (state 0A).
SCRIPT = ("if [ $RANK = 0 ]; then exec PROGRAM; fi; "
          "until grep -q ':PORT 0*:0000 0A' /proc/net/tcp /proc/net/tcp6 || [ $((n += 1)) -gt 100 ]; do sleep 0.1; done; "
          "exec PROGRAM localhost")


def call(*words):
    done = subprocess.run([TOOL, "exec", "--platform", "h100x8_2nodes", "--virtual-clock", *words], capture_output=True,
                          text=True, timeout=120)
    text = done.stdout + done.stderr
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: exit code {done.returncode}\n{text}")
    return text


def free_port():
    """A port that nothing listens on: other tests run beside this one."""
    with socket.socket() as s:
        s.bind(("", 0))
        return s.getsockname()[1]


def between_nodes(program):
    port = free_port()
    script = SCRIPT.replace("PROGRAM", f"{program} -p {port}").replace("PORT", f"{port:04X}")
    return call("--ranks", "2", "/bin/sh", "--", "-c", script)


def expect(holds, what, text):
    if not holds:
        sys.exit(f"{what}\n{text}")


def devinfo():
    text = call("--ranks", "1", "/usr/bin/ibv_devinfo")
    expect(len(re.findall(r"hca_id:\s+mlx5_\d", text)) == 8, "eight cards on a node", text)
    expect(text.count("PORT_ACTIVE") == 8, "all are active", text)
    verbose = call("--ranks", "1", "/usr/bin/ibv_devinfo", "--", "-v", "-d", "mlx5_3")
    expect("active_width:\t\t4X" in verbose and "100.0 Gbps" in verbose, "four lanes of NDR", verbose)


def pingpong():
    devinfo()
    for program in ("ibv_rc_pingpong -n 200 -c", "ibv_rc_pingpong -n 100 -e", "ibv_rc_pingpong -n 50 -t",
                    "ibv_rc_pingpong -n 20 -N", "ibv_rc_pingpong -n 20 -m 256 -s 20000 -c", "ibv_rc_pingpong -n 20 -g 0",
                    "ibv_uc_pingpong -n 100 -c", "ibv_uc_pingpong -n 50 -e",
                    "ibv_ud_pingpong -n 100 -s 1024 -c", "ibv_ud_pingpong -n 50 -s 1024 -e", "ibv_ud_pingpong -n 20 -s 512 -g 0",
                    "ibv_srq_pingpong -n 100 -q 4 -c", "ibv_srq_pingpong -n 50 -q 4 -e"):
        text = between_nodes(program)
        times = [float(t) for t in re.findall(r"= ([\d.]+) usec/iter", text)]
        expect(len(times) == 2, f"{program}: both ends finish", text)
        # Real cards take 3 to 6 us for 4 KiB there and back; several queue pairs work side by side.
        expect(all(0.5 < t < 30 for t in times), f"{program}: {times}", text)
        expect("invalid data" not in text, f"{program}: data", text)
    for program in ("ibv_xsrq_pingpong -n 100", "ibv_xsrq_pingpong -n 50 -e", "ibv_xsrq_pingpong -n 20 -m 256 -s 20000"):
        text = between_nodes(program)
        expect(len(re.findall(r"^success$", text, re.M)) == 2, f"{program}: both ends finish", text)


def column(text, k):
    rows = [line.split() for line in text.splitlines() if re.match(r"^\s*\d+\s+\d+\s+[\d.]+\s+[\d.]+", line)]
    return [float(row[k]) for row in rows]


def perftest():
    # What docs/evidence/calibration.md says, in MiB/s and us; published figures of NDR cards are 46771, 39174, 46557 and 1.27.
    for program, k, wanted, tolerance in (("ib_write_bw -n 500 -s 65536", 3, 46720, 0.01),
                                          ("ib_read_bw -n 500 -s 65536", 3, 42340, 0.01),
                                          ("ib_send_bw -n 500 -s 65536", 3, 46720, 0.01),
                                          ("ib_send_lat -n 50 -s 2", 4, 1.20, 0.02)):
        text = between_nodes(program)
        got = column(text, k)
        expect(got and all(abs(v / wanted - 1) < tolerance for v in got), f"{program}: {got}, about {wanted} expected", text)
    for program in ("ib_read_lat -n 20 -s 8", "ib_atomic_bw -n 50", "ib_atomic_bw -n 50 -A CMP_AND_SWAP",
                    "ib_atomic_lat -n 20", "ib_send_bw -n 50 -c UD -s 2048", "ib_send_bw -n 50 -c UC -s 4096",
                    "ib_write_bw -n 50 -q 4 -s 4096", "ib_write_lat -n 5 -s 8"):
        text = between_nodes(program)
        expect(len(column(text, 1)) >= 1, f"{program}: a row of figures", text)


{"pingpong": pingpong, "perftest": perftest}[SUITE]()
