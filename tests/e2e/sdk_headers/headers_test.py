#!/usr/bin/env python3
"""The SDK's public headers in host compilers: each one alone, all of them before and behind the standard
library, pairs with cuda_runtime.h in both orders, as C++11 to C++23 and, the API, as C; and NVIDIA's include guards."""
import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile

# Header -> the macro that NVIDIA's header of this name defines, and programs test.
GUARDS = {
    "builtin_types.h": None,
    "cuComplex.h": "CU_COMPLEX_H_",
    "cuda_fp4.h": "__CUDA_FP4_H__",
    "cuda_fp6.h": "__CUDA_FP6_H__",
    "curand_kernel.h": "CURAND_KERNEL_H_",
    "mma.h": "__CUDA_MMA_H__",
    "channel_descriptor.h": "__CHANNEL_DESCRIPTOR_H__",
    "cooperative_groups.h": "_COOPERATIVE_GROUPS_H_",
    "cuda.h": "__cuda_cuda_h__",
    "cuda_bf16.h": "__CUDA_BF16_H__",
    "cuda_device_runtime_api.h": "__CUDA_RUNTIME_API_H__",
    "cuda_fp16.h": "__CUDA_FP16_H__",
    "cuda_fp8.h": "__CUDA_FP8_H__",
    "cuda_profiler_api.h": "__CUDA_PROFILER_API_H__",
    "cuda_runtime.h": "__CUDA_RUNTIME_H__",
    "cuda_runtime_api.h": "__CUDA_RUNTIME_API_H__",
    "cudaProfiler.h": "cuda_profiler_H",
    "device_types.h": "__DEVICE_TYPES_H__",
    "driver_functions.h": "__DRIVER_FUNCTIONS_H__",
    "driver_types.h": "__DRIVER_TYPES_H__",
    "host_defines.h": "__HOST_DEFINES_H__",
    "library_types.h": "__LIBRARY_TYPES_H__",
    "math_constants.h": "__MATH_CONSTANTS_H__",
    "surface_types.h": "__SURFACE_TYPES_H__",
    "texture_types.h": "__TEXTURE_TYPES_H__",
    "vector_functions.h": "__VECTOR_FUNCTIONS_H__",
    "vector_types.h": "__VECTOR_TYPES_H__",
}
IN_PAIRS = ["cuda.h", "cuda_fp16.h", "cuda_runtime_api.h", "driver_types.h", "vector_types.h", "library_types.h"]
AS_C = ["cuda.h", "cuda_runtime_api.h", "cuda_runtime.h", "driver_types.h", "vector_types.h", "library_types.h"]
STANDARD = "#include <algorithm>\n#include <cmath>\n#include <string>\n#include <vector>\n"
RUNTIME_GUARDS = ["__CUDA_RUNTIME_H__", "__CUDA_RUNTIME_API_H__", "__DRIVER_TYPES_H__", "__VECTOR_TYPES_H__",
                  "__HOST_CONFIG_H__", "__HOST_DEFINES_H__", "__CHANNEL_DESCRIPTOR_H__", "__CUDA_DEVICE_RUNTIME_API_H__"]


def tested(guard):
    return f"#ifndef {guard}\n#error {guard} is not defined\n#endif\n" if guard else ""


def units(sdk):
    """(name, compiler, language and standard, source)"""
    public = sorted(f for f in os.listdir(sdk) if f.endswith(".h"))
    missing = [h for h in GUARDS if h not in public]
    if missing:
        raise SystemExit(f"headers that are gone: {missing}")
    for header in public:
        include = f"#include <{header}>\n"
        guard = tested(GUARDS.get(header))
        yield header, "g++", "-std=c++11", include + guard
        yield header, "clang++-19", "-std=c++23", include + guard
    for header in IN_PAIRS:
        include = f"#include <{header}>\n"
        yield header + ", cuda_runtime.h", "g++", "-std=c++17", include + "#include <cuda_runtime.h>\n"
        yield "cuda_runtime.h, " + header, "clang++-19", "-std=c++11", "#include <cuda_runtime.h>\n" + include
    everything = "".join(f"#include <{h}>\n" for h in public)
    backwards = "".join(f"#include <{h}>\n" for h in reversed(public))
    for compiler in ("g++", "clang++-19"):
        for standard in ("c++11", "c++14", "c++17", "c++20", "c++23"):
            yield "all headers, the library", compiler, f"-std={standard}", everything + STANDARD
            yield "the library, all headers backwards", compiler, f"-std={standard}", STANDARD + backwards
    guards = "#include <cuda_runtime.h>\n" + "".join(tested(g) for g in RUNTIME_GUARDS)
    yield "guards of cuda_runtime.h", "g++", "-std=c++11", guards
    for header in AS_C:
        for compiler in ("gcc", "clang-19"):
            for standard in ("c99", "c11"):
                source = f"#include <{header}>\n#include <stdlib.h>\nint main(void) {{ return 0; }}\n"
                yield header, compiler, f"-std={standard}", source


def main():
    sdk = sys.argv[1]
    folder = tempfile.mkdtemp()

    def compile_one(job):
        number, (name, compiler, standard, source) = job
        language = "c" if compiler in ("gcc", "clang-19") else "c++"
        file = f"{folder}/{number}.{'c' if language == 'c' else 'cpp'}"
        with open(file, "w") as out:
            out.write(source)
        run = subprocess.run([compiler, standard, "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", f"-I{sdk}", file],
                             capture_output=True, text=True)
        return None if run.returncode == 0 else f"{name} ({compiler} {standard}):\n{run.stderr[:2000]}"

    jobs = [u for u in units(sdk) if shutil.which(u[1])]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        failed = [f for f in pool.map(compile_one, enumerate(jobs)) if f]
    shutil.rmtree(folder)
    for text in failed[:10]:
        print(text)
    print(f"{len(jobs)} translation units, {len(failed)} failed")
    sys.exit(1 if failed or not jobs else 0)


if __name__ == "__main__":
    main()
