#!/usr/bin/env python3
"""Many attempts: 5,000 with a judge that takes no time, in under 30 s and 1 GiB.

Usage: load_test.py FABRICBENCH [--attempts N] [--seconds S]
"""
import argparse
import os
import time

import harness

PROBLEMS = ["push_copy", "pull_copy", "all_to_all", "device_barrier", "put_with_signal"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--attempts", type=int, default=5000)
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    checks = harness.Checks()
    with harness.folder() as folder:
        (folder / "answers").mkdir()
        for number, problem in enumerate(PROBLEMS):
            (folder / "answers" / f"{problem}.md").write_text(f"STUB {'pass' if number % 2 else 'wrong'}\n" + "x" * 4000)
        samples = options.attempts // len(PROBLEMS) // 2
        begin = time.monotonic()
        process = harness.start(options.tool, "--worker", harness.STUB, "--model", f"recorded:{folder / 'answers'},label=a", "--model",
                                f"recorded:{folder / 'answers'},label=b", *PROBLEMS, "--samples", samples, "--out",
                                folder / "run")
        lines = process.stderr.read().splitlines()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - begin
        checks.same(status, 0, f"exit status ({lines[-3:]})")
        found = len(harness.records(folder / "run"))
        checks.same(found, samples * len(PROBLEMS) * 2, "attempts")
        print(f"{found} attempts in {seconds:.1f} s, {usage.ru_maxrss / 1024:.0f} MiB, "
              f"{usage.ru_utime:.1f} s user, {usage.ru_stime:.1f} s system", flush=True)
        checks.that(seconds < options.seconds, f"took {seconds:.1f} s")
        checks.that(usage.ru_maxrss < 1 << 20, f"used {usage.ru_maxrss} KiB")
    checks.close()


if __name__ == "__main__":
    main()
