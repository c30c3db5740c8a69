#!/usr/bin/env python3
"""What the options of `exec --check` do, on the program of docs/guide/check_your_program.md: which reports there are, what is
suppressed, what the record and the exit code say.

Usage: options_test.py FABRICBENCH
"""
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
PROGRAM = "docs/check/halo.cu"


def line_of(text):
    with open(os.path.join(ROOT, PROGRAM), encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if text in line)


class Options:
    def __init__(self, tool, folder):
        self.tool, self.folder, self.failed = tool, folder, []

    def file(self, text):
        path = os.path.join(self.folder, "known.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def run(self, *words, **variables):
        command = [self.tool, "exec", "--check", *words, PROGRAM]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120,
                              env={**os.environ, **variables})
        self.shown = f"$ {' '.join(command)}\n{done.stdout}\nexit code {done.returncode}"
        return done.returncode, done.stdout

    def expect(self, what, holds):
        if not holds:
            self.failed.append(what)
            print(f"FAILED: {what}\n{self.shown}")

    def reports(self):
        code, text = self.run("--seed", "1")
        # The barrier that is missing shows at two places, in most schedules.
        reports = text.count("fabricbench: race: ") - 1
        self.expect("three mistakes, three or four reports", code == 1 and reports in (3, 4))
        self.expect("the others are counted", f"{reports} reports, see above; " in text and "further findings" in text)
        self.expect("the program goes on behind a report", "OK 4 steps" in text)
        store = line_of("peer->cells[step % 2][theirs] =")
        self.expect("the sources are shown", f"first > {store:5} |   peer->cells[step % 2][theirs] =" in text)
        record = os.path.join(self.folder, "record.json")
        code, text = self.run("--seed", "1", "--max-reports", "1", "--allow", "same-value", "--record", record)
        self.expect("the first report ends the run", code == 1 and "1 report, see above" in text)
        with open(record, encoding="utf-8") as file:
            run = json.load(file)
        findings = [incident for incident in run["incidents"] if incident["finding"]]
        self.expect("the record says so", run["ending"] == "race" and len(findings) == 1 and findings[0]["finding"] != "")
        sites = {site["role"]: site["frames"][0]["line"] for site in findings[0]["sites"]}
        self.expect("the record has the lines", {"first", "then"} <= set(sites) and all(
            f"halo.cu:{line}" in text for line in sites.values()))

    def time_is_up(self):
        code, text = self.run("--schedules", "100000", "--timeout", "6", "-DREPAIRED", "--allow", "same-value")
        self.expect("time that was up is told from a full search",
                    code == 3 and " of 100000 schedules (seeds from 1) until time was up" in text and "0 findings" in text)

    def suppressions(self):
        known = self.file("# of today\nsame-value:function:relax\nrace:flag:halo.cu:%d   # a flag\n"
                          "unordered:line:%s:1-99\nrace:function:no_such\n" % (line_of("peer->arrived = "), PROGRAM))
        code, text = self.run("--schedules", "2", "--suppressions", known)
        self.expect("all of it is suppressed", code == 0 and "race:" not in text.replace("race:function", ""))
        self.expect("their number is said", f"findings suppressed by {known}" in text)
        self.expect("what is unused is said, once",
                    text.count("nothing was suppressed by") == 1 and f"{known}:5: nothing was suppressed by race:function:no_such" in text)
        code, text = self.run("--schedules", "2", FABRICBENCH_SUPPRESSIONS=known)
        self.expect("the file may come by the environment", code == 0 and "findings suppressed" in text)
        code, text = self.run("--seed", "1", "--suppressions", self.file("race:function:relax\nraces:function:relax\nrace:line:x\n"))
        self.expect("wrong lines are errors with their numbers", code == 2 and "known.txt:2:" in text and "known.txt:3:" in text)
        code, text = self.run("--suppressions", "/no/such/file")
        self.expect("a file that is not there is an error", code == 2 and "can't be read" in text)

    def allowed(self):
        code, _ = self.run("--schedules", "2", "-DREPAIRED", "--allow", "same-value")
        self.expect("same values are allowed", code == 0)
        code, text = self.run("--schedules", "2", "--allow", "same-value,volatile")
        self.expect("the flag is as it is meant, the missing barrier is not",
                    code == 1 and text.count("fabricbench: race: ") in (2, 3) and text.count("put __syncthreads()") >= 1
                    and "flag at" not in text)
        code, text = self.run("--allow", "everything")
        self.expect("only two things can be allowed", code == 2 and "there are same-value and volatile" in text)
        code, text = self.run("--max-reports", "0")
        self.expect("at least one report", code == 2)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        options = Options(os.path.abspath(sys.argv[1]), folder)
        for part in (options.reports, options.time_is_up, options.suppressions, options.allowed):
            part()
    sys.exit(f"{len(options.failed)} failed" if options.failed else 0)


main()
