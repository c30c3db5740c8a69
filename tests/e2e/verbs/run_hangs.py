#!/usr/bin/env python3
"""Runs programs that hang with network cards and checks the cause that the machine names, in its output and in the record; and
their repaired forms, which end.

usage: run_hangs.py FABRICBENCH [NAME [repaired] | PART/PARTS]"""

import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
WAITS = "a message waits for its receiver"
DROPPED = "a message was dropped"
FAILED = "a queue pair has failed"
NO_COMPLETION = "waits for a completion that does not come"
NO_EVENT = "waits for an event that does not come"
LOST = "lost wakeup"
NOT_SENT = "no message is sent"
POLLS = "(ibv_poll_cq), at hangs/hangs.cu:"
IN_HEADER = "(ibv_poll_cq), at hangs/end.h:"

# Program, cause, and texts that the explanation contains.
CASES = [
    ("missing_receive", WAITS, ["the send with wr_id 4711", ", posted at hangs/end.h:", "of rank 1, has no receive posted", "rank 0: a host thread polls", IN_HEADER]),
    ("too_few_receives", WAITS, ["has no receive left (2 posted, all used)"]),
    ("receiver_in_init", WAITS, ["of rank 1, is in INIT, where it drops what comes", "timeout is 0"]),
    ("unreliable_in_init", WAITS, ["which is in INIT: it serves none of its 1 receive, and has dropped 1 message"]),
    ("posted_in_rtr", NO_COMPLETION, ["a request was refused when posted (EINVAL: the queue pair was in RTR)"]),
    ("wrong_number", WAITS, ["there is no queue pair", "of rank 1 is connected to this one"]),
    ("wrong_lid", WAITS, ["leads to no card"]),
    ("wrong_psn", DROPPED, ["for a repetition", "rq_psn was 0x64"]),
    ("crossed", WAITS, ["is connected to queue pair", "not to this one"]),
    ("armed_too_late", LOST, ["it was there before ibv_req_notify_cq armed the queue", "(ibv_get_cq_event), at hangs/hangs.cu:"]),
    ("armed_once", LOST, ["armed once and has told once"]),
    ("never_armed", LOST, ["1 completion is in", "never armed"]),
    ("polled_channel", LOST, ["never armed"]),
    ("solicited_only", LOST, ["solicited completions only", "without IBV_SEND_SOLICITED"]),
    ("not_acknowledged", NO_EVENT, ["1 event has not been acknowledged", "hangs/hangs.cu:"]),
    ("full_queue", NO_COMPLETION, ["is full: none of its 4 requests was signalled"]),
    ("posts_again", NO_COMPLETION, ["posts again and again"]),
    ("wrong_queue", NO_COMPLETION, ["rank 1 polls the completion queue of the sends of", "1 completion is in the completion queue of the receives of"]),
    ("unsignalled", NO_COMPLETION, ["whose last request was not signalled"]),
    ("empty_shared_queue", WAITS, ["has an empty shared receive queue"]),
    ("limit_not_set_again", NO_EVENT, ["was reached and told once, and was not set again", "(ibv_get_async_event), at hangs/hangs.cu:"]),
    ("write_without_immediate", NO_COMPLETION, ["an RDMA write has landed", "makes no completion at its target"]),
    ("status_not_looked_at", FAILED, ["of rank 1, which is in ERR: a send of its peer failed with IBV_WC_REM_INV_REQ_ERR"]),
    ("wrong_qkey", DROPPED, ["its Q_Key 0x12 is not that of the queue pair, 0x11"]),
    ("no_room_for_header", DROPPED, ["the receive has room for 64 bytes, and 104 came with the 40 of the GRH"]),
    ("datagram_to_nobody", DROPPED, ["1 message of", "found no queue pair"]),
    ("unreliable_too_early", DROPPED, ["no receive was posted when it came"]),
    ("both_wait", NOT_SENT, ["has sent nothing, and waits for a message too: each waits for the other", "rank 0: a host thread polls",
                           "rank 1: a host thread polls"]),
    ("no_event", NO_EVENT, ["rank 1 waits for an asynchronous event, and nothing is under way"]),
    ("fence", WAITS, ["the RDMA read with wr_id 4711", "1 request behind it waits too, by a fence among them"]),
    ("key_given_back", FAILED, ["IBV_WC_REM_ACCESS_ERR"]),
    ("reads_not_allowed", FAILED, ["its RDMA read with wr_id 4711 failed with IBV_WC_REM_INV_REQ_ERR", "2 completions in error were polled there"]),
    ("stopped_queue", WAITS, ["its send queue is stopped (the state is SQD)"]),
    ("peer_ended", NOT_SENT, ["its peer was of rank 1, which has ended"]),
    ("joined", NOT_SENT, ["rank 1 waits for a message"]),
    ("flag_not_written", "never signalled", ["network cards may write it (rkey", "1 RDMA write has landed in this process"]),
]
# They end by themselves, and are no hangs.
BOUNDED = ["counted_polls", "timed_polls"]


def run(tool, words, environment, folder):
    record = os.path.join(folder, "record.json")
    command = [tool, "exec", "--platform", "h100x8_2nodes", "--ranks", "2", "--record", record, "hangs/hangs.cu", "-libverbs", "--", *words]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=HERE, timeout=60, check=False)
    except subprocess.TimeoutExpired as late:
        return -1, f"no end: {late.stdout} {late.stderr}", {"incidents": []}
    with open(record) as file:
        return done.returncode, done.stdout + done.stderr, json.load(file)


def main():
    tool, only = sys.argv[1], sys.argv[2:]
    cases, bounded = CASES, BOUNDED
    if only and "/" in only[0]:
        part, parts = map(int, only[0].split("/"))
        cases, bounded, only = CASES[part::parts], BOUNDED[part::parts], []
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, TMPDIR=folder)
        for name, cause, says in cases:
            if only and (name != only[0] or len(only) > 1):
                continue
            code, text, record = run(tool, [name], environment, folder)
            incidents = [i["text"] for i in record["incidents"] if i["kind"] == "deadlock"]
            wrong = [s for s in says if s not in text or (incidents and s not in incidents[0])]
            if f"deadlock: {cause}: " not in text or not incidents or not incidents[0].startswith(f"{cause}: "):
                wrong.append(cause)
            if "Look at: " not in text:
                wrong.append("advice")
            if code == 0 or wrong:
                failures += 1
                print(f"FAIL {name}: exit code {code}, missing {wrong}\n{text}")
        for name in [case[0] for case in cases] + bounded:
            if only and name != only[0]:
                continue
            code, text, _ = run(tool, [name, "repaired"], environment, folder)
            if code != 0 or text.count(": over") != 2:
                failures += 1
                print(f"FAIL {name} repaired: exit code {code}\n{text}")
    print(f"{len(cases)} programs, {failures} failures")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
