#!/usr/bin/env python3
"""Every reference, baseline and alternative of the catalogue compiles with nvcc, against NVIDIA's headers.

usage: catalogue.py FABRICBENCH PROBLEMS [NAME…]

CUDA's headers take nvcc longer than the solutions do. So one file has the solutions of many problems, each in a namespace,
and the headers of all of them once at its top. Problems with a driver are left out: their class is given by it.
`fabricbench dev prove` compiles and links solutions one by one."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SKIPPED = 77
MANY = 40  # solutions in a file
FLAGS = ["-std=c++20", "-gencode", "arch=compute_90a,code=sm_90a", "--expt-relaxed-constexpr", "--extended-lambda", "-Xcompiler", "-fPIC", "-Xptxas", "-O0", "-c"]
# What a problem forbids to itself alone.
POISON = re.compile(r'^#pragma GCC poison.*$', re.M)
INCLUDE = re.compile(r'^\s*#include\s*<([^>]+)>.*$', re.M)

FAMILY = re.compile(r'^#include "\.\./(\w+\.h)"$', re.M)
REGION = re.compile(r"^(// \[solution[^\n]*\]\n)(.*?)(?=^// \[/solution\])", re.M | re.S)


def in_template(folder, file):
    """A solution as the judge compiles it: its regions with headers of its family, and around them what the template has."""
    text = FAMILY.sub(lambda header: (folder.parent / header[1]).read_text().replace("#pragma once\n", ""), (folder / file).read_text())
    frame = folder / ("reference.cu" if (folder / "reference.cu").exists() else "baseline.cu")
    if frame.name == file:
        return text
    regions = dict(REGION.findall(text))
    return REGION.sub(lambda region: region[1] + regions[region[1]], frame.read_text())


def solutions(tool, problems, names):
    listed = json.loads(subprocess.run([tool, "list", "--json", "--problems", problems], check=True, capture_output=True, text=True).stdout)
    for problem in listed["problems"]:
        if names and problem["name"] not in names:
            continue
        shown = json.loads(subprocess.run([tool, "show", "--json", "--problems", problems, problem["name"]], check=True, capture_output=True,
                                          text=True).stdout)
        folder = Path(problems) / shown["folder"]
        for file in ("reference.cu", "baseline.cu", "alternative.cu"):
            if (folder / file).exists() and not (folder / "driver.cu").exists():
                yield f"{problem['name']}_{file[:-3]}", in_template(folder, file), shown["args"]


def compile_many(nvcc, sdk, scratch, number, many):
    headers, text = [], ""
    for name, source, args in many:
        headers += [header for header in INCLUDE.findall(source) if header not in headers]
        body = POISON.sub("", INCLUDE.sub("", source)).replace('#include "args.h"', args)
        text += f"\nnamespace {name} {{\n#line 1 \"{name}.cu\"\n{body}\n}}\n"
    file = scratch / f"many_{number}.cu"
    file.write_text("".join(f"#include <{header}>\n" for header in headers) + text)
    command = [nvcc, *FLAGS, f"-I{sdk}", file, "-o", scratch / f"many_{number}.o"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout + done.stderr


def main():
    tool, problems, *names = sys.argv[1:]
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not Path(nvcc).exists():
        print("nvcc not found")
        sys.exit(SKIPPED)
    all_of_them = list(solutions(tool, problems, names))
    if not all_of_them:
        sys.exit("no solutions")
    with tempfile.TemporaryDirectory() as scratch:
        # Of our SDK only what CUDA's toolkit has not.
        headers = Path(__file__).resolve().parents[3] / "sdk" / "include"
        sdk = Path(scratch) / "include"
        sdk.mkdir()
        for name in ("fabricbench", "nccl.h", "cublas_v2.h", "cublasLt.h", "cublas_api.h", "library_types.h"):
            if (headers / name).exists():
                (sdk / name).symlink_to(headers / name)
        parts = [all_of_them[k:k + MANY] for k in range(0, len(all_of_them), MANY)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            done = list(pool.map(lambda k: compile_many(nvcc, sdk, Path(scratch), k, parts[k]), range(len(parts))))
    bad = [said for code, said in done if code != 0]
    for said in bad:
        print("\n".join(said.splitlines()[:40]))
    print(f"{len(all_of_them)} solutions, {len(parts)} files, {len(bad)} of them do not compile")
    sys.exit(1 if bad else 0)


main()
