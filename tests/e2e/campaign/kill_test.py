#!/usr/bin/env python3
"""Signals at drawn moments into every kind of process of a campaign (director, caller, worker, judge): whatever is killed, the
campaign ends with the records of an undisturbed run, field by field, and nothing is left behind.

Usage: kill_test.py FABRICBENCH [--kills N] [--seed S] [--random]
"""
import argparse
import collections
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

import harness

PROBLEMS = {"flag_ping_pong": "p2p", "push_copy": "p2p"}
ROUNDS = 2
CALL_MS = 400
SIGNALS = (signal.SIGTERM, signal.SIGKILL)
ROLES = ("director", "caller", "worker", "judge")


def write_answers(folder):
    """Round 1 is wrong, round 2 the reference; the last problem passes at once."""
    for problem, category in PROBLEMS.items():
        reference = (harness.HERE.parents[2] / "problems" / "comm" / category / problem / "reference.cu").read_text()
        place = folder / problem
        place.mkdir(parents=True)
        rounds = [f"// round 1 of {problem}\n" + reference] if problem == "push_copy" else ["no code", reference]
        for number, text in enumerate(rounds, 1):
            (place / f"{number}.md").write_text(f"```cuda\n{text}\n```\n")


def steady(value):
    """Modelled times stay: of a call of the model only the wall clock goes."""
    if isinstance(value, dict):
        kept = {name: steady(part) for name, part in value.items() if name not in {"wall_seconds", "processor_seconds", "lost"}}
        if "stop_reason" in kept:
            kept.pop("seconds", None)
        return kept
    return [steady(part) for part in value] if isinstance(value, list) else value


def records(run_folder):
    samples = pathlib.Path(run_folder) / "samples"
    return {str(path.relative_to(samples)): steady(json.loads(path.read_text()))
            for path in sorted(samples.rglob("*.attempt.json"))}


def processes():
    """Parent and command line of every live process."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError, IndexError):
            after = (entry / "stat").read_text().rpartition(")")[2].split()
            if after[0] != "Z":
                words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
                found[int(entry.name)] = (int(after[1]), words)
    return found


def by_role(director, run_folder):
    """The processes of this campaign, by what they are."""
    everything, roles = processes(), collections.defaultdict(list)
    if director.poll() is None:
        roles["director"].append(director.pid)
    for pid, (parent, words) in everything.items():
        if words[1:2] == ["caller"] and str(run_folder) in words:
            roles["caller"].append(pid)
        elif words[1:2] == ["worker"] and parent == director.pid:
            roles["worker"].append(pid)
    below = set(roles["worker"])
    grown = True
    while grown:
        grown = False
        for pid, (parent, _) in everything.items():
            if parent in below and pid not in below:
                below.add(pid)
                roles["judge"].append(pid)
                grown = True
    return roles


class Campaign:
    def __init__(self, tool, folder, name):
        self.tool, self.run_folder = tool, folder / name
        self.scratch = folder / (name + ".tmp")
        self.cache = folder / (name + ".cache")
        self.log = folder / (name + ".log")
        self.scratch.mkdir()
        self.log.write_text("")
        self.answers = folder / "answers"
        self.env = harness.environment(TMPDIR=self.scratch, FABRICBENCH_CACHE=self.cache)
        self.errors = ""

    def words(self, url):
        return ["--model", f"openai-compatible:m,url={url},label=m", *PROBLEMS, "--rounds", ROUNDS, "--jobs", 2, "--seed", 7,
                "--out", self.run_folder]

    def start(self, url):
        return harness.start(self.tool, *self.words(url), env=self.env)

    def quiet(self):
        with harness.provider(self.answers, self.log, delay_ms=CALL_MS) as url:
            process = self.start(url)
            self.errors = process.communicate(timeout=600)[1]
            return process.returncode

    def disturbed(self, kills, chance, wait, seen):
        """Up to so many signals; then to the end. Returns how many there were."""
        done = lives = 0
        first = True
        with harness.provider(self.answers, self.log, delay_ms=CALL_MS) as url:
            process = self.start(url)
            while True:
                # A few signals a run: with more, every run would end by the bound on tries.
                if done < kills:
                    # Calls are made in a run's first seconds.
                    role = "caller" if first else chance.choice(ROLES)
                    first = False
                    try:
                        process.wait(0 if role == "caller" else chance.uniform(0, wait))
                    except subprocess.TimeoutExpired:
                        there = self.live(process, role, chance)
                        if there:
                            sign = chance.choice(SIGNALS)
                            with contextlib.suppress(ProcessLookupError):
                                os.kill(there[chance.randrange(len(there))], sign)
                                done += 1
                                seen[role, sign.name] += 1
                        continue
                self.errors = process.communicate(timeout=600)[1]
                if process.returncode == 0:
                    return done
                lives += 1
                if lives > 10 + 2 * kills:
                    return done
                process = self.start(url)  # resumes

    def live(self, process, role, chance):
        """Processes of the role. A caller lives only as long as its call: the next one is waited for."""
        deadline = time.monotonic() + 20
        while True:
            there = sorted(by_role(process, self.run_folder)[role])
            if there and role == "caller":
                time.sleep(chance.uniform(0, CALL_MS / 1000 / 2))
            if there or role != "caller" or process.poll() is not None or time.monotonic() > deadline:
                return there
            time.sleep(0.01)

    def left_in_scratch(self):
        """After one more check, which removes what killed ones left."""
        answer = self.scratch.parent / "prose.md"
        answer.write_text("no code\n")
        subprocess.run([self.tool, "check", "--quick", "flag_ping_pong", str(answer)], env=self.env, capture_output=True, check=False)
        reference = harness.HERE.parents[2] / "problems" / "comm" / "p2p" / "flag_ping_pong" / "reference.cu"
        subprocess.run([self.tool, "check", "--quick", "flag_ping_pong", str(reference)], env=self.env, capture_output=True, check=False)
        # A folder without a lock may be removed after a minute only.
        return sorted(path.name for path in self.scratch.iterdir() if not path.name.startswith(".fabricbench-new."))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--kills", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--random", action="store_true", help="another seed every time, which is printed")
    options = parser.parse_args()
    seed = random.randrange(10**6) if options.random else options.seed
    print(f"seed {seed}", flush=True)
    chance, checks, seen = random.Random(seed), harness.Checks(), collections.Counter()
    with harness.folder() as folder:
        write_answers(folder / "answers")
        quiet = Campaign(options.tool, folder, "quiet")
        begin = time.monotonic()
        checks.same(quiet.quiet(), 0, "the undisturbed run's exit code")
        length = time.monotonic() - begin
        expected = records(quiet.run_folder)
        print(f"undisturbed: {len(expected)} attempts in {length:.1f} s", flush=True)
        checks.same([record["verdict"]["class"] for record in expected.values()], ["compile_error", "pass", "pass"], "classes")
        checks.that(all(record["verdict"]["speed"] for record in expected.values() if record["verdict"]["class"] == "pass"),
                    "a pass of the undisturbed run has no speed")
        killed = number = 0
        while killed < options.kills:
            number += 1
            run = Campaign(options.tool, folder, f"disturbed{number}")
            died = run.disturbed(min(8, options.kills - killed), chance, length / 6, seen)
            killed += died
            found = records(run.run_folder)
            checks.same(sorted(found), sorted(expected), f"the attempts of run {number} ({run.errors[-300:]})")
            for name in expected:
                checks.same(found.get(name), expected[name], f"record {name} of run {number}")
            checks.same(harness.processes_about(str(run.run_folder)), [], "processes left behind")
            checks.same(run.left_in_scratch(), [], "temporary files left behind")
            print(f"run {number}: {died} signals", flush=True)
            for path in (run.run_folder, run.cache, run.scratch):
                shutil.rmtree(path, ignore_errors=True)
    print(", ".join(f"{role} {sign}: {count}" for (role, sign), count in sorted(seen.items())), flush=True)
    print(f"{killed} signals, seed {seed}", flush=True)
    checks.close()


if __name__ == "__main__":
    main()
