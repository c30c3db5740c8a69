#!/usr/bin/env python3
"""Runs programs that touch memory of network cards too early or too late, and their repaired forms.

A wrong one must be reported with its class and with both lines (marked in the source with //@ and a name); a repaired
one must be clean, under so many schedules.

Usage: run_races.py FABRICBENCH SOURCE [--schedules N] [--part K/LAST] [CASE...]
--part: the cases with remainder K by LAST + 1, in their order
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent

# The class of each case, and the marks of the lines that its report must name.
CASES = {
    "gpu.cu": {
        "read_before_completion": ("unordered", ["read_before_completion", "use"]),
        "received_before_completion": ("unordered", ["received_before_completion", "use"]),
        "copied_before_completion": ("unordered", ["copied_before_completion"]),
        "source_refilled": ("buffer reused too early", ["source_refilled", "fill"]),
        "source_copied_over": ("buffer reused too early", ["source_copied_over"]),
        "built_by_calls": ("buffer reused too early", ["built_by_calls", "fill"]),
        "completion_of_other": ("buffer reused too early", ["completion_of_other", "fill"]),
        "source_not_ready": ("unordered", ["source_not_ready", "fill"]),
        "flag_of_other": ("unordered write/read", ["flag_of_other", "poll_use"]),
        "flag_in_message": ("in-band flag", ["flag_in_message", "poll_use"]),
        "flag_not_acquired": ("read without acquire", ["flag_not_acquired", "poll_use"]),
        "flag_of_narrow_scope": ("scope too narrow", ["flag_of_narrow_scope", "acquire_gpu"]),
        "relaxed_ordering": ("unordered write/read", ["relaxed_ordering", "poll_use"]),
        "result_used_early": ("unordered", ["result_used_early", "use"]),
        "read_overtaken": ("unordered", ["read_overtaken"]),
        "filled_while_read": ("unordered", ["filled_while_read", "fill"]),
        "two_writers": ("unordered write/write", ["two_writers"]),
        "counted_by_both": ("non-atomic update", ["counted_by_both", "count"]),
        "received_again": ("unordered", ["received_again", "use"]),
        "written_without_credit": ("unordered", ["written_without_credit", "use"]),
        "unreliable_completion": ("unordered", ["unreliable_completion", "use"]),
        "told_too_early": ("unordered", ["told_too_early", "poll_use"]),
        "next_kernel": ("unordered write/read", ["next_kernel", "use"]),
    },
    "host.cu": {
        "read_before_completion": ("unordered", ["read_before_completion", "use"]),
        "received_before_completion": ("unordered", ["received_before_completion", "use"]),
        "slept": ("unordered", ["slept", "use"]),
        "source_refilled": ("buffer reused too early", ["source_refilled", "fill"]),
        "source_not_inlined": ("buffer reused too early", ["source_not_inlined", "fill"]),
        "completion_of_other": ("buffer reused too early", ["completion_of_other", "fill"]),
        "flag_of_other": ("unordered", ["flag_of_other", "use"]),
        "flag_in_message": ("unordered", ["flag_in_message", "use"]),
        "flag_relaxed": ("unordered", ["flag_relaxed", "use"]),
        "flag_reset_early": ("unordered", ["flag_reset_early"]),
        "result_used_early": ("unordered", ["result_used_early", "use"]),
        "filled_while_read": ("unordered", ["filled_while_read", "fill"]),
        "counted_by_both": ("non-atomic update", ["counted_by_both"]),
        "received_again": ("unordered", ["received_again", "use"]),
        "published_early": ("unordered", ["published_early", "fill"]),
        "told_before_completion": ("unordered", ["told_before_completion", "use"]),
        "filled_behind_the_call": ("buffer reused too early", ["filled_behind_the_call", "fill"]),
        "unreliable_completion": ("unordered", ["unreliable_completion", "use"]),
    },
}


def marked_lines(source):
    lines = {}
    for number, text in enumerate((HERE / source).read_text().splitlines(), 1):
        if found := re.search(r"//@ (\w+)", text):
            lines.setdefault(found[1], []).append(number)
    return lines


def run(tool, source, case, form, schedules):
    with tempfile.TemporaryDirectory() as folder:
        command = [tool, "exec", "--check", "--platform", "h100x8_2nodes", "--ranks", "2", *schedules, source, "-libverbs",
                   "--", case, form]
        done = subprocess.run(command, env=dict(os.environ, TMPDIR=folder), capture_output=True, text=True, cwd=HERE,
                              timeout=3000, check=False)
    return done.returncode, done.stdout + done.stderr


def reports_of(text):
    return re.findall(r"race: .*?(?=race: |\Z)", text, re.S)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("source")
    parser.add_argument("--schedules", type=int, default=0, help="of repaired forms; 0: by virtual time alone")
    parser.add_argument("--part")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    lines = marked_lines(options.source)
    failures = 0
    if options.part:
        part, last = map(int, options.part.split("/"))
        options.cases = list(CASES[options.source])[part::last + 1]
    for case, (kind, marks) in CASES[options.source].items():
        if options.cases and case not in options.cases:
            continue
        code, text = run(options.tool, options.source, case, "wrong", ["--seed", "0"])
        wanted = [f"{options.source}:{line}" for mark in marks for line in lines[mark]]
        fits = [r for r in reports_of(text) if r.startswith(f"race: {kind}") and all(w in r for w in wanted)]
        if code != 1 or not fits:
            failures += 1
            print(f"FAIL {case}: exit code {code}, no report of \"{kind}\" with {wanted}\n{text}")
        schedules = ["--schedules", str(options.schedules)] if options.schedules else ["--seed", "0"]
        code, text = run(options.tool, options.source, case, "right", schedules)
        if code != 0 or "race: " in text:
            failures += 1
            print(f"FAIL {case}: exit code {code}, the repaired form is not clean\n{text}")
    print(f"{failures} failures")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
