#!/usr/bin/env python3
"""A campaign that is killed with SIGKILL at random moments, and resumed each time, ends as an undisturbed one: the same
records, no attempt lost or doubled, and no call made twice.

Usage: crash_test.py FABRICBENCH [--kills N] [--seed S]
"""
import argparse
import collections
import json
import random
import subprocess
import time

import harness

PROBLEMS = ["push_copy", "pull_copy", "all_to_all", "device_barrier"]
ROUNDS, SAMPLES = 3, 6


def write_answers(folder):
    """One problem passes at once, one after feedback, one never; one answer is no code."""
    for problem, classes in {"push_copy": ["pass"], "pull_copy": ["wrong", "deadlock", "pass"], "all_to_all": ["compile_error"] * 3,
                             "device_barrier": ["fault", "pass"]}.items():
        answers = folder / problem
        answers.mkdir(parents=True)
        for number, name in enumerate(classes, 1):
            (answers / f"{number}.md").write_text(f"STUB {name} for {problem}, round {number}\n")


def arguments(url, out):
    return ["--model", f"openai-compatible:m,url={url},label=m", *PROBLEMS, "--samples", SAMPLES, "--rounds", ROUNDS,
            "--jobs", 2, "--calls", 4, "--seed", 7, "--worker", harness.STUB, "--out", out]


def calls(log):
    """How often the server answered each call well."""
    good = collections.Counter()
    for line in log.read_text().splitlines():
        entry = json.loads(line)
        if entry["status"] == 200:
            good[entry["idempotency_key"]] += 1
    return good


def disturb(tool, words, env, kills, chance, longest, checks):
    """Kills the campaign again and again; returns how often. The last life goes to its end."""
    for count in range(kills):
        process = harness.start(tool, *words, env=env)
        try:
            process.communicate(timeout=chance.uniform(0, longest))
        except subprocess.TimeoutExpired:
            harness.end(process)
            process.communicate()
            continue
        checks.same(process.returncode, 0, f"exit code after {count} kills")
        return count
    return kills


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--random", action="store_true", help="another seed every time, which is printed")
    options = parser.parse_args()
    seed = random.randrange(10**6) if options.random else options.seed
    print(f"seed {seed}", flush=True)
    chance, checks = random.Random(seed), harness.Checks()
    with harness.folder() as folder:
        write_answers(folder / "answers")
        env = harness.environment(STUB_SECONDS=0.05)
        with harness.provider(folder / "answers", folder / "quiet.log", delay_ms=120) as url:
            begin = time.monotonic()
            code, _, err = harness.run(options.tool, *arguments(url, folder / "quiet"), env=env)
            length = time.monotonic() - begin
            checks.same(code, 0, f"the undisturbed run's exit code ({err[-300:]})")
        expected = harness.records(folder / "quiet")
        checks.that(len(expected) >= SAMPLES * len(PROBLEMS), f"{len(expected)} attempts")
        print(f"undisturbed: {len(expected)} attempts in {length:.1f} s", flush=True)
        killed = round_number = 0
        while killed < options.kills:
            round_number += 1
            out, log = folder / f"disturbed{round_number}", folder / f"disturbed{round_number}.log"
            log.write_text("")
            with harness.provider(folder / "answers", log, delay_ms=120) as url:
                # Short lives, so that one run is killed about ten times.
                words = arguments(url, out)
                died = disturb(options.tool, words, env, min(25, options.kills - killed), chance, length / 5, checks)
                killed += died
                code, _, err = harness.run(options.tool, *words, env=env)
                checks.same(code, 0, f"the last life's exit code ({err[-300:]})")
                found = harness.records(out)
            # The port is part of how the model is asked, but of no attempt.
            checks.same(sorted(found), sorted(expected), "the attempts there are")
            for name in expected:
                checks.same(found.get(name), expected[name], f"record {name} of run {round_number}")
            twice = {key: count for key, count in calls(log).items() if count > 1}
            checks.same(twice, {}, f"calls made twice in run {round_number}")
            checks.same(len(calls(log)), len(expected), f"calls in run {round_number}")
            lost = [path for path in out.rglob("*.attempt.json") if json.loads(path.read_text())["call"]["lost"]]
            checks.same(lost, [], "attempts whose call was lost")
            checks.same(harness.processes_about(str(out)), [], "processes left behind")
            checks.same([str(p) for p in out.rglob("*.calling.*")], [], "marks of calls left behind")
            print(f"run {round_number}: killed {died} times", flush=True)
    checks.close()


if __name__ == "__main__":
    main()
