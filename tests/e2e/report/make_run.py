#!/usr/bin/env python3
"""Writes a run folder with made-up attempts, the same ones each time: what reports are measured with.

  make_run.py OUT --attempts 50000 [--models 8] [--problems 25] [--rounds 5] [--answers] [--seed 1]

There are as many samples as the attempts need; the last one may have fewer rounds than it would. Verdicts have the size of
real ones. With --answers every round has the answer's text and the call as well.
"""

import argparse
import json
import os
import random

CATEGORIES = ["p2p", "collective", "ep", "fusion", "utility"]
LIBRARIES = ["cuda", "nccl", "verbs"]
FAILURES = ["wrong", "race", "deadlock", "fault", "compile_error", "budget", "rule_violation", "cheat"]
SIZES = ["4KiB", "64KiB", "1MiB", "16MiB"]


def write(path, value):
    with open(path, "w", encoding="utf-8") as file:
        file.write(value if isinstance(value, str) else json.dumps(value, indent=2) + "\n")


def problem_facts(number):
    name = f"problem_{number:02}"
    return {
        "name": name,
        "title": f"Made-up problem {number}",
        "track": "kernel" if number % 7 == 6 else "comm",
        "category": CATEGORIES[number % len(CATEGORIES)],
        "library": LIBRARIES[number % len(LIBRARIES)],
        "level": 1 + number % 3,
        "tags": ["made-up"],
        "worlds": [4, 2, 8],
        "platform": "h100x8",
        "hash": f"{number:032x}",
        "statement": f"# Made-up problem {number}\n\nMove `n` floats.\n",
        "args": "struct Args {\n  const float* in;\n  float* out;\n  int64_t n;\n};\n",
        "sizes": [{"name": size, "values": {"n": 1024 << (4 * k)}, "quick": k == 0, "timed": True}
                  for k, size in enumerate(SIZES)],
        "cost": {"link_bytes": "n * 4", "memory_bytes": "n * 8", "flops": "n",
                 "timed": [{"size": size, "world": 8, "link_bytes": 4096 << (4 * k), "memory_bytes": 8192 << (4 * k),
                            "flops": 1024 << (4 * k)} for k, size in enumerate(SIZES)]},
    }


def verdict(rng, problem, outcome, speed):
    passed = outcome == "pass"
    timings = []
    for k, size in enumerate(SIZES if passed else []):
        reference = 2e-6 * 4**k
        timings.append({"size": size, "world": 8, "seconds": reference / speed, "reference_seconds": reference,
                        "limit_seconds": reference / 3})
    lines = [f"rank {rank}, block {rng.randrange(64)}, thread {rng.randrange(256)}: element {rng.randrange(1 << 20)} is "
             f"{rng.random():.6f}, expected {rng.random():.6f}" for rank in range(16)]
    return {
        "class": outcome,
        "summary": "all outputs are right" if passed else f"{outcome} in call {rng.randrange(3)} of size 64KiB",
        "explanation": "" if passed else "\n".join(lines),
        "notes": [],
        "place": {"size": "" if passed else "64KiB", "world": -1 if passed else 4, "rank": 0, "call": 0, "schedule": "0"},
        "problem": problem["name"],
        "problem_hash": problem["hash"],
        "pack": "made-up",
        "pack_version": "1",
        "candidate_hash": f"{rng.getrandbits(128):032x}",
        "backend": "virtual",
        "platform": "h100x8",
        "thoroughness": "full",
        "seed": str(rng.getrandbits(64)),
        "replayable": True,
        "sandbox": "bubblewrap",
        "version": "0.1.0",
        "sessions": 15,
        "schedules": 3,
        "calls": 180,
        "values": 1 << 22,
        "instructions": 3000000,
        "timings": timings,
        "speed": speed if passed else None,
        "sol": speed / 3 if passed else None,
        "wall_seconds": {"build": 0.4, "sessions": 1.5},
    }


def answer(rng, label, problem, number):
    code = "\n".join(f"  out[i + {k}] = in[i + {k}];  // {rng.random():.6f}" for k in range(40))
    return f"Attempt {number} of {label} at {problem}.\n\n```cpp\n// [solution]\n{code}\n// [/solution]\n```\n"


def attempt(rng, label, skill, problem, sample, round_number):
    draw = rng.random()
    call = {"end": "complete", "stop_reason": "stop", "error": "", "model": label, "tries": 1, "lost": 0,
            "usage": {"input_tokens": 3000 + rng.randrange(2000), "cached_tokens": 1024, "cache_write_tokens": 0,
                      "output_tokens": 1000 + rng.randrange(6000), "reasoning_tokens": 500},
            "usd": round(0.001 + 0.02 * rng.random(), 6), "seconds": round(5 + 60 * rng.random(), 3)}
    if draw < 0.01:
        call.update(end="failed", stop_reason="", error="HTTP 529: overloaded", usd=None)
        call["usage"] = {name: 0 for name in call["usage"]}
        judged, outcome = None, "failed"
    elif draw < 0.03:
        call.update(end="truncated", stop_reason="length")
        judged, outcome = None, "truncated"
    else:
        if draw < 0.04:
            outcome = "infra"
        elif rng.random() < skill / problem["level"]:
            outcome = "pass"
        else:
            outcome = rng.choice(FAILURES)
        judged = verdict(rng, problem, outcome, round(2.0 ** rng.gauss(-0.4, 0.6), 6))
    return outcome, {"model": label, "problem": problem["name"], "sample": sample, "round": round_number,
                     "for_speed": False, "outcome": outcome, "call": call, "verdict": judged, "cached": False}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--attempts", type=int, default=1000)
    parser.add_argument("--models", type=int, default=8)
    parser.add_argument("--problems", type=int, default=25)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--answers", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    o = parser.parse_args()
    rng = random.Random(o.seed)
    labels = [f"model-{chr(ord('a') + k % 26)}{k // 26 or ''}" for k in range(o.models)]
    problems = [problem_facts(number) for number in range(o.problems)]
    os.makedirs(f"{o.out}/problems")
    for problem in problems:
        write(f"{o.out}/problems/{problem['name']}.json", problem)

    written, sample = 0, 0
    while written < o.attempts:
        sample += 1
        for m, label in enumerate(labels):
            for problem in problems:
                folder = f"{o.out}/samples/{label}/{problem['name']}/{sample}"
                for round_number in range(1, o.rounds + 1):
                    if written == o.attempts:
                        break
                    outcome, record = attempt(rng, label, 0.2 + 0.6 * m / o.models, problem, sample, round_number)
                    if round_number == 1:
                        os.makedirs(folder)
                    if o.answers:
                        write(f"{folder}/{round_number}.answer.md", answer(rng, label, problem["name"], written))
                        write(f"{folder}/{round_number}.response.json", record["call"])
                    write(f"{folder}/{round_number}.attempt.json", record)
                    written += 1
                    if outcome in ("pass", "failed", "infra"):
                        break
    write(f"{o.out}/campaign.json", {
        "name": "made-up", "created": "2026-11-15T10:00:00Z",
        "models": [{"label": label, "provider": "recorded", "model": label, "base_url": "", "effort": "",
                    "temperature": None, "max_output_tokens": None} for label in labels],
        "problems": [problem["name"] for problem in problems], "pack": "made-up", "pack_version": "1",
        "samples": sample, "rounds": o.rounds, "speed_rounds": 0, "prompt": "zero_shot", "thoroughness": "full",
        "backend": "virtual", "platform": "h100x8", "seed": "7", "version": "0.1.0"})
    print(f"{written} attempts, {sample} samples")


if __name__ == "__main__":
    main()
