#!/usr/bin/env python3
"""Device code of several files: objects, static and shared libraries, a plain host linker, errors that are named, reports.

usage: run_files.py FABRICBENCH"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

FILES = Path(__file__).parent / "files"
TOOL = sys.argv[1]
RESULT = "no error: 8065 1007\n"


def call(*words, cwd=None, good=True):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=250, cwd=cwd)
    if (done.returncode == 0) != good:
        sys.exit(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr if not good else done.stdout


def nvcc(*words, **options):
    return call(TOOL, "dev", "nvcc", *words, **options)


def expect(found, wanted, what):
    if wanted not in found:
        sys.exit(f"{what}: expected\n{wanted}\nin\n{found}")


def runs(program, wanted=RESULT, what="the program"):
    expect(call(TOOL, "exec", program), wanted, what)


def main(folder):
    sources = [FILES / name for name in ("main.cu", "values.cu", "host_part.cu")]
    nvcc("-dc", "-O1", *sources, cwd=folder)
    objects = [folder / name for name in ("main.o", "values.o", "host_part.o")]

    nvcc(*objects, "-o", folder / "linked")
    runs(folder / "linked", what="objects linked by nvcc")

    # values.o has nothing that the host's linker would look for.
    nvcc("-lib", "-o", folder / "libvalues.a", folder / "values.o", folder / "host_part.o")
    nvcc(folder / "main.o", "-L", folder, "-lvalues", "-o", folder / "with_library")
    runs(folder / "with_library", what="a static library")

    nvcc("-dlink", folder / "main.o", folder / "libvalues.a", "-o", folder / "dlink.o")
    toolkit = Path(TOOL).parent.parent / "lib/fabricbench/toolkit/lib64"
    call("g++", folder / "main.o", folder / "dlink.o", folder / "libvalues.a", "-o", folder / "by_host", f"-L{toolkit}", "-lcudadevrt",
         "-lcudart_static", "-lrt", "-lpthread", "-ldl")
    runs(folder / "by_host", what="the host's linker")

    # Weak definitions, for runtimes that lack a function, give way to the static runtime.
    call("gcc", f"-I{toolkit.parent}/include", "-fPIC", "-fvisibility=hidden", "-shared", FILES / "fallback.c", "-o", folder / "libfallback.so",
         f"-L{toolkit}", "-lcudart_static", "-Wl,-s")
    call("gcc", FILES / "with_fallback.c", "-o", folder / "with_fallback", f"-L{folder}", "-lfallback", f"-Wl,-rpath,{folder}")
    runs(folder / "with_fallback", "0 0 8", "a static runtime in a library")
    expect(call(folder / "with_fallback", good=False), "fabricbench exec PROGRAM", "a static runtime without a node")

    # Kernels have the names that nvcc gives them.
    nvcc("-c", FILES / "named.cu", "-o", folder / "named.o")
    call("g++", f"-I{toolkit.parent}/include", FILES / "by_name.cpp", folder / "named.o", "-o", folder / "by_name", f"-L{toolkit}", "-lcudart")
    runs(folder / "by_name", "no error: 36", "kernels that the host's compiler names")

    # Both have a dlink of their own.
    nvcc("-shared", "-rdc=true", "-Xcompiler", "-fPIC", FILES / "host_part.cu", FILES / "values.cu", "-o", folder / "libpart.so")
    nvcc("-rdc=true", FILES / "main.cu", FILES / "values.cu", "-L", folder, "-lpart", f"-Xlinker=-rpath,{folder}", "-o", folder / "with_shared")
    runs(folder / "with_shared", "no error: 8065 1013", "a shared object with its own variables")

    expect(call(TOOL, "exec", "-rdc=true", *sources), RESULT, "exec -rdc=true")

    missing = nvcc(folder / "main.o", folder / "host_part.o", "-o", folder / "x", good=False)
    expect(missing, "undefined symbol _Z6helperi (helper(int)): ", "a missing function")
    expect(missing, "main.o (", "the object that needs it")
    expect(missing, "undefined symbol counter", "a missing variable")
    nvcc("-dc", FILES / "again.cu", "-o", folder / "again.o")
    twice = nvcc("-dlink", *objects, folder / "again.o", "-o", folder / "x.o", good=False)
    expect(twice, "duplicate symbol _Z6helperi (helper(int)): defined in ", "two definitions")
    expect(twice, "again.cu", "the second one's source")

    for part in (1, 2):
        nvcc("-dc", f"-DPART={part}", FILES / "part.cu", "-o", folder / f"part{part}.o")
    nvcc(folder / "part1.o", folder / "part2.o", "-o", folder / "parts")
    runs(folder / "parts", "part 1\npart 2\n", "one file twice")

    report = call(TOOL, "exec", "--check", "-rdc=true", FILES / "race_main.cu", FILES / "race_store.cu", good=False)
    expect(report, "race_store.cu:2", "the report of a race")

    runs_c = folder / "plain"
    nvcc(FILES / "plain.c", "-o", runs_c)
    runs(runs_c, "8 GPUs 3", "a C program")

    # Rules for make; text as a .fatbin; options from a file; the environment's.
    nvcc("-c", FILES / "race_main.cu", "-MD", "-MT", "x y", "-MF", folder / "rule.d", "-o", folder / "r.o")
    expect((folder / "rule.d").read_text(), "x\\ y: \\\n  ", "a rule")
    nvcc("-ptx", FILES / "race_store.cu", "-rdc=true", "-o", folder / "r.ptx")
    expect((folder / "r.ptx").read_text(), ".visible .func", "PTX")
    tests = FILES.parent.parent
    nvcc("-ptx", "-I", tests / "language", tests / "cccl" / "libcudacxx_sync.cu", "-o", folder / "cccl.ptx")
    expect((folder / "cccl.ptx").read_text(), "mbarrier.", "PTX of a source that includes libcu++")
    nvcc("-M", "-I", tests / "language", tests / "cccl" / "libcudacxx_sync.cu", "-o", folder / "cccl.d")
    expect((folder / "cccl.d").read_text(), "/usr/include/cuda/std/", "headers of libcu++, not the SDK's small versions")
    (folder / "words").write_text(f'-dc "{FILES}/again.cu"\n-o {folder}/from_file.o')
    nvcc(f"@{folder}/words")
    os.environ["NVCC_APPEND_FLAGS"] = "--frobnicate"
    expect(nvcc("-c", FILES / "again.cu", good=False), "--frobnicate: unknown option", "an unknown option")
    del os.environ["NVCC_APPEND_FLAGS"]
    expect(nvcc("-cubin", FILES / "again.cu", good=False), "-cubin: the virtual GPUs run PTX", "machine code")
    expect(nvcc("--version"), "release 13.0, V13.0.", "the version")
    print("ok")


with tempfile.TemporaryDirectory() as scratch:
    main(Path(scratch))
