#!/usr/bin/env python3
"""50,000 attempts become pages in less than 30 s and 1 GiB, reading included."""

import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

MAKE_RUN = pathlib.Path(__file__).resolve().parent.parent / "report" / "make_run.py"
ATTEMPTS, PAGES = 50_000, 2000


def main():
    with tempfile.TemporaryDirectory(prefix="fb_site_load_") as folder:
        run, out = f"{folder}/run", pathlib.Path(folder) / "site"
        subprocess.run([sys.executable, MAKE_RUN, run, "--attempts", str(ATTEMPTS)], check=True, timeout=200, stdout=subprocess.DEVNULL)
        begin = time.monotonic()
        subprocess.run([sys.argv[1], "report", run, "--html", str(out)], check=True, timeout=100, stdout=subprocess.DEVNULL,
                       env=dict(os.environ, FABRICBENCH_WEB="/nowhere"))
        seconds = time.monotonic() - begin
        mebibytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        pages = sum(1 for _ in (out / "attempts").rglob("*.html"))
        size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file()) / 2**20
        print(f"{seconds:.1f} s, {mebibytes:.0f} MiB, {pages} pages of attempts, {size:.0f} MiB on disk")
        if seconds > 30 or mebibytes > 1024 or pages != PAGES:
            sys.exit("FAILED: too slow, too large, or not as many pages as there should be")


if __name__ == "__main__":
    main()
