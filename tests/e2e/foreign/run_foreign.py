#!/usr/bin/env python3
"""Programs that nvcc has built run on the node: both kinds of runtime, all forms of fatbins, device code of several files.

usage: run_foreign.py FABRICBENCH NVCC"""

import subprocess
import sys
import tempfile
from pathlib import Path

FILES = Path(__file__).parent / "files"
LANGUAGE = Path(__file__).parent.parent / "language"
TOOL, NVCC = sys.argv[1:3]
RESULT = "12 502 100 37 1024\n"
HOPPER = ["-gencode", "arch=compute_90,code=[sm_90,compute_90]"]

# Options of nvcc; the platform's devices have compute capability 9.0.
FORMS = {
    "shared runtime": ["-cudart", "shared", "-arch=sm_90"],
    "static runtime": ["-arch=sm_90"],
    "text of an earlier architecture": ["-arch=sm_75"],
    "all compressed": [*HOPPER, "-Xfatbin", "-compress-all"],
    "zstd": [*HOPPER, "--compress-mode=size"],
    "LZ4": [*HOPPER, "--compress-mode=speed"],
    "not compressed": [*HOPPER, "--compress-mode=none"],
    "text alone": ["-gencode", "arch=compute_90,code=compute_90"],
    "bound to the device": ["-arch=sm_90a"],
    "machine code for the device, text for later ones": ["-gencode", "arch=compute_90,code=sm_90", "-gencode",
                                                         "arch=compute_120,code=compute_120"],
    "debug information": ["-arch=sm_90", "-g", "-G"],
    "a default stream for each thread": ["-arch=sm_90", "--default-stream", "per-thread"],
    "a default stream for each thread, shared runtime": ["-arch=sm_90", "--default-stream", "per-thread", "-cudart",
                                                         "shared"],
    "relocatable": ["-arch=sm_90", "-rdc=true"],
    "relocatable, shared runtime": ["-arch=sm_90", "-rdc=true", "-cudart", "shared"],
    "a runtime that the program was made to find": ["-arch=sm_90", "-cudart", "shared", "-Xlinker",
                                                    f"--disable-new-dtags,-rpath,{Path(NVCC).parent.parent}/lib64"],
}
MISSING = "compile with -gencode arch=compute_90,code=compute_90"


def call(*words, good=True):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=250)
    if (done.returncode == 0) != good:
        sys.exit(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


def expect(found, wanted, what):
    if wanted not in found:
        sys.exit(f"{what}: expected\n{wanted}\nin\n{found}")


def build(folder, options, *names, files=FILES):
    program = folder / "program"
    call(NVCC, *options, "-o", program, *[files / name for name in names])
    return program


def main(folder):
    expect(call(TOOL, "exec", FILES / "program.cu")[0], RESULT, "our own front end")
    for what, options in FORMS.items():
        expect(call(TOOL, "exec", build(folder, options, "program.cu"))[0], RESULT, what)
    for runtime in ("static", "shared"):
        options = ["-arch=sm_90", "-rdc=true", "-cudart", runtime]
        program = build(folder, options, "parts_main.cu", "parts_table.cu")
        expect(call(TOOL, "exec", program)[0], "no error 2 8000\n", f"several files, {runtime} runtime")

    # Kernels that call the runtime, linked with NVIDIA's device runtime.
    for name in ("device_launches", "graph_conditions"):
        program = build(folder, ["-std=c++20", "-w", "-arch=sm_90", "-rdc=true", "-cudart", "shared"], f"{name}.cu",
                        files=LANGUAGE)
        expect(call(TOOL, "exec", program)[0], "OK\n", name)
    program = build(folder, ["-std=c++20", "-w", "-arch=sm_90", "-rdc=true"], "device_launches.cu", files=LANGUAGE)
    expect(call(TOOL, "exec", program)[0], "OK\n", "device_launches, static runtime")

    # What the node cannot run is named, with the option that is missing.
    program = build(folder, ["-gencode", "arch=compute_90,code=sm_90"], "program.cu")
    out, err = call(TOOL, "exec", program, good=False)
    expect(out, "no kernel image is available for execution on the device", "machine code alone")
    expect(err, f"machine code for sm_90 without PTX, and the node runs PTX: {MISSING}", "machine code alone")
    program = build(folder, ["-gencode", "arch=compute_120,code=compute_120"], "program.cu")
    expect(call(TOOL, "exec", program, good=False)[1], f"no device of compute capability 9.0 runs: {MISSING}", "later text")

    # A static runtime is found by its symbols.
    program = build(folder, ["-arch=sm_90"], "program.cu")
    call("strip", program)
    expect(call(TOOL, "exec", program, good=False)[1], "no symbol table", "a stripped program")

    program = build(folder, ["-arch=sm_90", "-lineinfo"], "racy.cu")
    expect(call(TOOL, "exec", "--check", program, good=False)[1], "racy.cu:4", "a race in a program of nvcc")

    image, program = folder / "image.fatbin", folder / "image"
    call(NVCC, "-fatbin", "-arch=sm_90", "-o", image, FILES / "program.cu")
    call(NVCC, "-cudart", "none", "-o", program, FILES / "image.cpp", "-lcuda", "-L", Path(NVCC).parent.parent / "lib64/stubs")
    expect(call(TOOL, "exec", program, "--", image)[0], "kernels: 2 2 2\n", "a fatbin in a file")


with tempfile.TemporaryDirectory() as folder:
    main(Path(folder))
print("OK")
