#!/usr/bin/env python3
"""50,000 attempts are reported in less than 30 s and 1 GiB, reading included."""

import os
import resource
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ATTEMPTS = 50_000


def roomy_folder():
    """In memory where there is room: making and removing so many files takes longer than reporting them."""
    memory = "/dev/shm"
    if not os.path.isdir(memory):
        return None
    space = os.statvfs(memory)
    return memory if space.f_bavail * space.f_frsize > 4 << 30 else None


def main():
    with tempfile.TemporaryDirectory(prefix="fb_report_load_", dir=roomy_folder()) as folder:
        run = f"{folder}/run"
        subprocess.run([sys.executable, f"{HERE}/make_run.py", run, "--attempts", str(ATTEMPTS)], check=True, timeout=400,
                       stdout=subprocess.DEVNULL)
        for option in ["--attempts", "--html"]:
            begin, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
            folder_of_site = [f"{folder}/site"] if option == "--html" else []
            done = subprocess.run([sys.argv[1], "report", run, option, *folder_of_site], capture_output=True, timeout=120, check=True)
            seconds = time.monotonic() - begin
            now = resource.getrusage(resource.RUSAGE_CHILDREN)
            processor = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
            mebibytes = now.ru_maxrss / 1024  # of the largest child so far; writing the run is one, and small
            print(f"{option}: {seconds:.1f} s, {processor:.1f} s of processor, {mebibytes:.0f} MiB, {len(done.stdout)} bytes")
            if option == "--attempts" and done.stdout.count(b"\n") != ATTEMPTS + 1:
                sys.exit("FAILED: not one row for each attempt")
            if option == "--html" and sum(len(files) for _, _, files in os.walk(f"{folder}/site/attempts")) != 2000:
                sys.exit("FAILED: not as many pages as there may be")
            if seconds > 30 or mebibytes > 1024:
                sys.exit("FAILED: too slow or too large")


if __name__ == "__main__":
    main()
