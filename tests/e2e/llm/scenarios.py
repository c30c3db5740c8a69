#!/usr/bin/env python3
"""Every row of src/campaign/llm/providers.toml against a server that speaks it, in every scenario, streaming and not; and no key
anywhere in what came out of it.

    scenarios.py ASK_TOOL providers.toml"""

import concurrent.futures
import functools
import json
import os
import pathlib
import random
import re
import string
import subprocess
import sys
import tempfile
import threading
import tomllib

import fake_provider
from fake_provider import ANSWER, COST, REFUSAL, ROWS, SCENARIOS, USAGE

# What one call must be, by scenario; "tries" is 1 where nothing else is said.
OK = {"end": "complete", "text": ANSWER}
EXPECTED = {
    "ok": OK,
    "whole": OK,
    "truncated": {"end": "truncated", "text": ANSWER[:20]},
    "refused": {"end": "refused"},
    "empty": {"end": "empty", "text": ""},
    "key_in_answer": {"end": "complete", "text": "the key is [key]."},
    "seconds_then_ok": {**OK, "tries": 2, "wait": (7000, 7700)},
    "date_then_ok": {**OK, "tries": 2, "wait": (9000, 9900)},
    "overloaded_then_ok": {**OK, "tries": 4},
    "stall_then_ok": {**OK, "tries": 2, "lost": 1},
    "broken_then_ok": {**OK, "tries": 2, "lost": 1},
    "no_final_then_ok": {**OK, "tries": 2, "lost": 1},
    "error_event_then_ok": {**OK, "tries": 2},
    "malformed_then_ok": {**OK, "tries": 2, "lost": 1},
    "bad_stop_then_ok": {**OK, "tries": 2, "lost": 1},
    "malformed": {"end": "failed", "tries": 3, "lost": 3, "error": "3 tries, then: {row}: "},
    "failing": {"end": "failed", "tries": 3, "error": r"status 500: internal error"},
    "huge": {"end": "failed", "lost": 1, "error": "more than 1048576 bytes"},
    "wrong_key": {"end": "failed", "error": r"refuses the key \(401\): set {variable}"},
    "forbidden": {"end": "failed", "error": r"403.*\[key\].*{variable}"},
    "bad_request": {"end": "failed", "error": r"does not accept the request \(400\): temperature.*\[key\]"},
    "not_found": {"end": "failed", "error": r"has no 'play-not_found' at this address \(404\)"},
    "too_large": {"end": "failed", "error": r"too long for {row} \(413\)"},
    "unprocessable": {"end": "failed", "error": r"\(422\): max_tokens: too many"},
    "no_credit": {"end": "failed", "error": "429.*exceeded your current quota"},
    "elsewhere": {"end": "failed", "error": r"redirects \(302\)"},
    "much_later": {"end": "failed", "error": "would be too long"},
}
# How long a silent server is waited for: the try behind it must end within this on a busy computer as well.
STALL_MS = 6000
PRICES = {"input": 1.0, "cached_input": 0.1, "cache_write": 1.25, "output": 10.0}


def fail(message):
    sys.exit(f"scenarios: {message}")


def check(condition, message):
    if not condition:
        raise AssertionError(message)


@functools.cache
def providers():
    with open(sys.argv[2], "rb") as file:
        return {p["name"]: p for p in tomllib.load(file)["provider"]}


def variable_of(row):
    return providers()[row]["key"][0]


def lines_for(row, port, prices):
    """One line for ask_tool for each scenario and way."""
    efforts = providers()[row].get("effort", {})
    for scenario in SCENARIOS:
        for stream in (True, False):
            line = {"model": f"{row}:play-{scenario},url=http://127.0.0.1:{port}/{row}{ROWS[row]['path']},temperature=0.5",
                    "system": "You write code.", "turns": ["Write code.", "", "It does not compile."], "stream": stream,
                    "idempotency_key": f"{row}/{scenario}/{stream}", "max_tries": 3, "prices": prices}
            if {"any", "high"} & set(efforts):
                line["model"] += ",effort=high"
            if scenario == "overloaded_then_ok":
                line["max_tries"] = 4
            if scenario == "stall_then_ok":  # without a stream only the end of time can tell
                line.update({"stall_ms": STALL_MS} if stream else {"try_ms": STALL_MS})
            yield scenario, stream, line


def usage_of(row):
    says_written = ROWS[row]["dialect"] == "anthropic" or ROWS[row].get("cost")
    return {"input_tokens": USAGE["input"], "cached_tokens": USAGE["cached"],
            "cache_write_tokens": USAGE["written"] if says_written else 0,
            "output_tokens": USAGE["output"], "reasoning_tokens": USAGE["reasoning"]}


def usd_of(row):
    if ROWS[row].get("cost"):
        return COST
    written = usage_of(row)["cache_write_tokens"]
    fresh = USAGE["input"] - USAGE["cached"] - written
    return (fresh * PRICES["input"] + USAGE["cached"] * PRICES["cached_input"] + written * PRICES["cache_write"]
            + USAGE["output"] * PRICES["output"]) / 1e6


def check_answer(row, scenario, stream, got):
    expected = EXPECTED[scenario]
    response, call = got["response"], got["response"]["call"]
    check(call["end"] == expected["end"], f"end is {call['end']}: {call['error']}")
    check(got["replays"], "the response is not the same after it was read again")
    check(call["tries"] == expected.get("tries", 1), f"{call['tries']} tries: {call['error']}")
    if scenario not in ("error_event_then_ok",):
        check(call["lost"] == expected.get("lost", 0), f"{call['lost']} tries are lost")
    check(len(got["waits"]) == call["tries"] - 1, f"waits {got['waits']}")
    if "wait" in expected:
        low, high = expected["wait"]
        check(low <= got["waits"][0] <= high, f"waited {got['waits']}")
    if call["end"] == "failed":
        pattern = expected["error"].replace("{row}", re.escape(row)).replace("{variable}", variable_of(row))
        check(re.search(pattern, call["error"]) and "\n" not in call["error"], f"the error is '{call['error']}'")
        check(response["text"] == "", "a failed call has a text")
        return
    check(call["error"] == "" and call["stop_reason"], f"stop reason '{call['stop_reason']}', error '{call['error']}'")
    if "text" in expected:
        check(response["text"] == expected["text"], f"the text is {response['text']!r}")
    if scenario == "refused" and ROWS[row]["dialect"] != "gemini":
        check(response["text"] == REFUSAL, f"the text is {response['text']!r}")
    check(call["model"] == f"play-{scenario}-2026", f"the model is '{call['model']}'")
    check(call["usage"] == usage_of(row), f"usage {call['usage']}")
    check(call["usd"] is not None and abs(call["usd"] - usd_of(row)) < 1e-12, f"{call['usd']} USD, not {usd_of(row)}")
    check(response["request_id"] == "req-1" and call["seconds"] > 0, "request id and seconds")
    check(json.loads(response["request_body"]) and response["response_body"], "bodies")


def command_lines_of(process, seen, stop):
    """What /proc shows of the process while it runs."""
    while not stop.wait(0.02):
        try:
            seen.add(pathlib.Path(f"/proc/{process.pid}/cmdline").read_bytes())
        except OSError:
            return


def run_row(row, tool, server, environment, prices):
    """Asks everything of one row; returns what failed, and every byte that came out."""
    cases = list(lines_for(row, server.server_address[1], prices))
    process = subprocess.Popen([tool], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    seen, stop = set(), threading.Event()
    watcher = threading.Thread(target=command_lines_of, args=(process, seen, stop))
    watcher.start()
    text = "".join(json.dumps(line) + "\n" for _, _, line in cases)
    out, err = process.communicate(text.encode(), timeout=800)
    stop.set()
    watcher.join()
    problems = []
    answers = out.decode().splitlines()
    if process.returncode != 0 or len(answers) != len(cases):
        problems.append(f"{row}: ask_tool ended with {process.returncode} after {len(answers)} answers: {err.decode()}")
    for (scenario, stream, _), answer in zip(cases, answers):
        got = json.loads(answer)
        try:
            check("error" not in got, got.get("error"))
            check_answer(row, scenario, stream, got)
        except AssertionError as problem:
            problems.append(f"{row} {scenario} {'stream' if stream else 'whole'}: {problem}")
    if not seen:
        problems.append(f"{row}: no command line was seen")
    return problems, out + err + b"".join(seen)


def check_log(records):
    """Every try was seen by the server, and none more."""
    problems = []
    for row in ROWS:
        for scenario, expected in EXPECTED.items():
            for stream in (True, False):
                key = f"{row}/{scenario}/{stream}"
                count = sum(r["idempotency_key"] == key for r in records)
                if count != expected.get("tries", 1):
                    problems.append(f"{key}: the server saw {count} requests")
    return problems


def leaks(keys, places):
    """Whole keys, and both halves of them."""
    found = []
    for row, key in keys.items():
        for name, content in places.items():
            for part in (key, key[:len(key) // 2], key[len(key) // 2:]):
                if part.encode() in content:
                    found.append(f"a key of {row} is in {name}")
    return found


def main():
    tool = sys.argv[1]
    if set(providers()) != set(ROWS):
        fail(f"the rows are {sorted(providers())}, the server speaks {sorted(ROWS)}")
    draw = random.Random(5)
    # With characters that JSON and addresses escape.
    keys = {row: "sk-" + "".join(draw.choice(string.ascii_letters + string.digits) for _ in range(40)) + '/+"='
            for row in ROWS}
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    environment |= {variable_of(row): key for row, key in keys.items()}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        prices = folder / "prices.toml"
        prices.write_text("as_of = 2026-01-01\n" + "".join(
            f'[[price]]\nprovider = "{row}"\nmodel = "play-*"\n' + "".join(f"{k} = {v}\n" for k, v in PRICES.items()) for row in ROWS))
        server = fake_provider.Server(log=folder / "log", keys=keys)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            done = list(pool.map(lambda row: run_row(row, tool, server, environment, str(prices)), ROWS))
        server.shutdown()
        problems = [problem for found, _ in done for problem in found] + check_log(server.records)
        if server.elsewhere:
            problems.append("a redirect was followed")
        places = {f"what came out for {row}": out for row, (_, out) in zip(ROWS, done)}
        places["the server's log"] = (folder / "log").read_bytes()
        if not all(b"[key]" in out for _, out in done):
            problems.append("no key was taken out: the test is blind")
        problems += leaks(keys, places)
    print(f"{len(ROWS)} rows, {len(SCENARIOS)} scenarios, streaming and not: {len(server.records)} requests")
    if problems:
        fail("\n".join(problems))


if __name__ == "__main__":
    main()
