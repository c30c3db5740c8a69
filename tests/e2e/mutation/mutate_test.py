#!/usr/bin/env python3
"""Judges a few mutants of two problems, as a short form of the score: most must be killed, and a wrong argument must be noticed.

Usage: mutate_test.py FABRICBENCH EQUIVALENTS
"""
import json
import os
import re
import subprocess
import sys
import tempfile

TOOL, EQUIVALENTS = sys.argv[1], sys.argv[2]


def mutate(*arguments):
    command = [TOOL, "dev", "mutate", *arguments]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=250)
    return done.returncode, done.stdout + done.stderr


def check_arguments():
    """Every argument is about a mutant that exists."""
    with open(EQUIVALENTS, encoding="utf-8") as file:
        argued = re.findall(r'^id = "(.*)"$', file.read(), re.M)
    code, listed = mutate("--list")
    assert code == 0, listed
    ids = set(listed.splitlines())
    missing = [one for one in argued if one not in ids]
    assert not missing, f"arguments about mutants that there are not: {missing}"
    assert len([one for one in ids if "/" in one and not one.startswith(" ")]) >= 400, "fewer mutants than were promised"


def check_kills(folder):
    """A dropped fence, a stale number and a lost signal are noticed even in the quick form."""
    path = os.path.join(folder, "score.json")
    code, said = mutate("--quick", "--limit", "6", "--seed", "2", "--json", path, "--least", "0.7", "--equivalents", EQUIVALENTS,
                        "--operators", "drop-signal,drop-wait,stale-epoch,off-by-one,wrong-peer,drop-exit-barrier",
                        "all_reduce_one_shot", "pull_copy")
    print(said)
    assert code == 0, f"exit code {code}"
    with open(path, encoding="utf-8") as file:
        mutants = json.load(file)["mutants"]
    assert len(mutants) == 12, f"{len(mutants)} mutants"
    assert not [one for one in mutants if one["fate"] == "unjudged"], "some were not judged"
    killed = [one for one in mutants if one["fate"] == "killed"]
    assert all(one["class"] not in ("pass", "", "infra") for one in killed), killed


def check_wrong_argument(folder):
    """An argument for a mutant that is killed, and one for a mutant that does not exist, make the run fail."""
    code, listed = mutate("--list", "--operators", "drop-signal", "flag_ping_pong")
    assert code == 0, listed
    victim = listed.splitlines()[0]
    path = os.path.join(folder, "wrong.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'[[mutant]]\nid = "{victim}"\nwhy = "it is not"\n')
    code, said = mutate("--quick", "--operators", "drop-signal", "--equivalents", path, "flag_ping_pong")
    assert code == 1 and f"Stale argument: {victim}: it is killed" in said, said
    with open(path, "w", encoding="utf-8") as file:
        file.write('[[mutant]]\nid = "flag_ping_pong/drop-signal/1:1/0"\nwhy = "there is none"\n')
    code, said = mutate("--quick", "--limit", "1", "--equivalents", path, "flag_ping_pong")
    assert code == 1 and "Stale argument: flag_ping_pong/drop-signal/1:1/0: there is no such mutant" in said, said


def main():
    check_arguments()
    with tempfile.TemporaryDirectory() as folder:
        check_kills(folder)
        check_wrong_argument(folder)


if __name__ == "__main__":
    main()
