#!/usr/bin/env python3
"""`fabricbench report` as a user meets it: exit codes, options, errors that name the file."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "unit", "report")
SMALL = f"{DATA}/runs/small"
PROGRAM = os.path.abspath(sys.argv[1])


def report(*arguments):
    done = subprocess.run([PROGRAM, "report", *arguments], capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


def expect(condition, what, *context):
    if not condition:
        print(f"FAILED: {what}", *context, sep="\n")
        sys.exit(1)


def expect_error(arguments, *words):
    code, out, err = report(*arguments)
    expect(code == 2, f"exit code 2 for {arguments}", code, err)
    if "--json" in arguments:  # failures are JSON then, on standard output
        err = " ".join(json.loads(out)["error"]["messages"])
    else:
        expect(out == "", "nothing on standard output", out)
    for word in words:
        expect(word in err, f"'{word}' in the message", err)


def golden(name):
    with open(f"{DATA}/golden/{name}", encoding="utf-8", newline="") as file:
        return file.read()


# A line of the golden file is a member, or an element of one: `models[0]: {…}`.
def summary_of(text):
    summary = {}
    for line in text.splitlines():
        name, _, value = line.partition(": ")
        key, is_list, _ = name.partition("[")
        if is_list:
            summary.setdefault(key, []).append(json.loads(value))
        else:
            summary[key] = json.loads(value)
    return summary


def main():
    with tempfile.TemporaryDirectory(prefix="fb_report_") as folder:
        os.chdir(folder)
        os.makedirs("runs")
        shutil.copytree(SMALL, "runs/small")

        # Every format, as the library prints it.
        for option, name in [([], None), (["--matrix"], "small.console.txt"), (["--markdown"], "small.md"),
                             (["--csv"], "small.csv"), (["--attempts"], "small.attempts.csv")]:
            done = subprocess.run([PROGRAM, "report", "runs/small", *option], capture_output=True, timeout=60, check=False)
            expect(done.returncode == 0, f"exit code 0 for {option}", done.stderr)
            if name:
                expect(done.stdout.decode() == golden(name), f"{name} is what {option} prints", done.stdout.decode())
            else:
                expect("Pass×GM" in done.stdout.decode() and "never passed: ring_sum" in done.stdout.decode(), "the console")

        expected, printed = summary_of(golden("small.summary.txt")), json.loads(report("runs/small", "--json")[1])
        expect(expected == {key: value for key, value in printed.items() if value != []}, "--json", printed)

        # Options reach the figures.
        good = json.loads(report("runs/small", "--json", "--good", "0.6")[1])
        expect(good["models"][0]["scores"]["pass_good"]["value"] == 0.75, "PASS+Good from 0.6 on")
        ks = json.loads(report("runs/small", "--json", "--k", "2")[1])
        expect([at["k"] for at in ks["models"][0]["pass_at"]] == [2], "k of pass@k")
        ks = json.loads(report("--json", "--k", "2,1,7", "runs/small")[1])
        expect([at["k"] for at in ks["models"][0]["pass_at"]] == [1, 2, 7], "several k, before the folder")
        expect_error(["runs/small", "--json", "--csv"], "--csv")
        expect_error(["runs/small", "--good", "-1"], "--good")
        expect_error(["runs/small", "--k", "0"], "--k")
        expect_error([], "DIR")

        # Two runs of the same settings are pooled; a folder that is named twice is a mistake.
        shutil.copytree("runs/small", "runs/again")
        both = json.loads(report("runs/small", "runs/again", "--json")[1])
        expect(both["attempts"] == 24 and len(both["models"]) == 2, "pooled", both["notes"])
        expect(both["models"][0]["scores"]["samples"] == 8, "samples of both")
        expect_error(["runs/small", "runs/../runs/small/"], "named twice")

        # Folders that are none, and damaged files, are named.
        expect_error(["nowhere"], "nowhere")
        expect_error(["runs"], "runs", "campaign.json")
        damaged = "runs/again/samples/alpha/ring_sum/1/2.attempt.json"
        text = open(damaged, encoding="utf-8").read()
        for broken in [text[: len(text) // 2], "", "[]", "{}", text.replace('"complete"', '"sideways"')]:
            with open(damaged, "w", encoding="utf-8") as file:
                file.write(broken)
            expect_error(["runs/small", "runs/again"], damaged)
        with open(damaged, "w", encoding="utf-8") as file:
            file.write(text)
        with open("runs/again/problems/ring_sum.json", "w", encoding="utf-8") as file:
            file.write("{")
        expect_error(["runs/again"], "runs/again/problems/ring_sum.json")
        with open("runs/again/campaign.json", "w", encoding="utf-8") as file:
            file.write("{")
        expect_error(["runs/again"], "runs/again/campaign.json")

        # Pages, and the figures beside them; never into a run's own folder.
        code, out, err = report("runs/small", "--html", "site")
        expect(code == 0 and out == "site/index.html\n" and os.path.exists("site/index.html"), "pages", out, err)
        both = report("runs/small", "--html", "site", "--csv")[1]
        expect(both == golden("small.csv"), "pages and CSV", both)
        expect_error(["runs/small", "--html", "runs/small"], "runs/small")

        # A run that has only begun.
        shutil.rmtree("runs/small/samples")
        code, out, err = report("runs/small")
        expect(code == 1 and "No attempt has finished yet." in out and err == "", "a run without attempts", code, out, err)
    print("ok")


if __name__ == "__main__":
    main()
