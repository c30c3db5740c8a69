#!/usr/bin/env python3
"""Constructs of CUDA, one snippet each, that this front end and nvcc must agree on.

The .cuh files hold snippets under lines "// construct: NAME". A snippet is the body of a namespace; its #include lines
stand in front of all. `__device__ … value(unsigned thread)` is called by a warp, and the 32 results are compared:
ours, and those of nvcc's PTX executed on the same virtual GPU. Lines that direct this script:

  // std: c++20     compiled with this standard; c++17 otherwise
  // run: no        compiled alone;  run: ours: nvcc's PTX has instructions that the machine lacks (wmma)
  // expect: 0      every thread's result, also where there is no nvcc
  // refused        both compilers refuse it

Many snippets make one translation unit. Where one of these does not compile, each snippet is compiled by itself to name
the culprit. Without nvcc only our side is run."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
NVCC = shutil.which("nvcc") or (os.path.exists("/usr/local/cuda/bin/nvcc") and "/usr/local/cuda/bin/nvcc") or None

MAIN = """
#include <cuda.h>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
struct Construct { const char* name; const void* kernel; };
static const Construct kConstructs[] = {
%s  {nullptr, nullptr}};
int main(int count, char** words) {
  CUmodule module = nullptr;
  cudaFree(nullptr);
  if (count > 1) {
    std::ifstream file(words[1]);
    const std::string ptx{std::istreambuf_iterator<char>(file), {}};
    if (cuModuleLoadData(&module, ptx.c_str()) != CUDA_SUCCESS) return std::printf("the module does not load\\n"), 1;
  }
  long long* values = nullptr;
  cudaMallocManaged(&values, 32 * sizeof(long long));
  for (const Construct* c = kConstructs; c->name; ++c) {
    for (int i = 0; i < 32; ++i) values[i] = -1;
    void* arguments[] = {&values};
    if (module) {
      CUfunction function;
      if (cuModuleGetFunction(&function, module, (std::string("run_") + c->name).c_str()) != CUDA_SUCCESS) continue;
      cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 4096, nullptr, arguments, nullptr);
    } else {
      cudaLaunchKernel(c->kernel, dim3(1), dim3(32), arguments, 4096, nullptr);
    }
    const cudaError_t error = cudaDeviceSynchronize();
    std::printf("%%s", c->name);
    if (error != cudaSuccess) std::printf(" %%s", cudaGetErrorName(error));
    for (int i = 0; i < 32 && error == cudaSuccess; ++i) std::printf(" %%lld", values[i]);
    std::printf("\\n");
  }
  return 0;
}
"""


class Snippet:
    def __init__(self, name, text):
        self.name = name
        self.std = (re.search(r"^// std: (\S+)", text, re.M) or [0, "c++17"])[1]
        self.run = (re.search(r"^// run: (\S+)", text, re.M) or [0, "both"])[1]
        self.expect = (re.search(r"^// expect: (\S+)", text, re.M) or [0, None])[1]
        self.refused = bool(re.search(r"^// refused$", text, re.M))
        self.includes = re.findall(r"^#include .*$", text, re.M)
        self.body = re.sub(r"^#include .*$", "", text, flags=re.M).strip()


def read_snippets():
    snippets = []
    for file in sorted(glob.glob(HERE + "/*.cuh")):
        parts = re.split(r"^// construct: (\w+)\n", open(file).read(), flags=re.M)
        snippets += [Snippet(name, text) for name, text in zip(parts[1::2], parts[2::2])]
    names = [s.name for s in snippets]
    assert len(names) == len(set(names)), "a name is used twice"
    return snippets


def unit(snippets):
    includes, bodies, kernels, rows = [], [], [], []
    for s in snippets:
        includes += [i for i in s.includes if i not in includes]
        bodies.append(f"namespace c_{s.name} {{\n{s.body}\n}}\n")
        if s.run != "no" and not s.refused:
            kernels.append(f'extern "C" __global__ void run_{s.name}(long long* out) {{ '
                           f"out[threadIdx.x] = static_cast<long long>(c_{s.name}::value(threadIdx.x)); }}\n")
            rows.append(f'  {{"{s.name}", reinterpret_cast<const void*>(&run_{s.name})}},\n')
    return "\n".join(includes) + "\n" + "".join(bodies) + "".join(kernels) + MAIN % "".join(rows)


class Runner:
    def __init__(self, fabricbench, folder):
        self.fabricbench, self.folder, self.failures = fabricbench, folder, []

    def write(self, name, snippets):
        path = f"{self.folder}/{name}.cu"
        with open(path, "w") as file:
            file.write(unit(snippets))
        return path

    def ours(self, path, std, arguments=()):
        command = [self.fabricbench, "exec", "--ranks", "1", f"-std={std}", "-arch=sm_90a", path]
        if arguments:
            command += ["--", *arguments]
        return subprocess.run(command, capture_output=True, text=True)

    def nvcc(self, path, std):
        command = [NVCC, f"-std={std}", "-arch=sm_90a", "-ptx", "--extended-lambda", "--expt-relaxed-constexpr", "-w",
                   "-o", path[:-3] + ".ptx", path]
        return subprocess.run(command, capture_output=True, text=True)

    def blame(self, snippets, std):
        """Each snippet by itself, with both compilers."""
        def one(s):
            path = self.write("single_" + s.name, [s])
            mine = self.ours(path, std)
            theirs = self.nvcc(path, std) if NVCC else None
            accepted = mine.returncode != 2
            if theirs is not None and accepted != (theirs.returncode == 0):
                text = mine.stderr if not accepted else theirs.stderr
                return f"{s.name}: {'nvcc' if accepted else 'this front end'} refuses it:\n{text[:1500]}"
            if not accepted:
                return f"{s.name}: does not compile:\n{mine.stderr[:1500]}"
            return None
        with ThreadPoolExecutor(2) as pool:
            self.failures += [f for f in pool.map(one, snippets) if f]

    def batch(self, name, std, snippets):
        path = self.write(name, snippets)
        with ThreadPoolExecutor(2) as pool:
            nvcc = pool.submit(self.nvcc, path, std) if NVCC else None
            mine = self.ours(path, std)
            theirs = nvcc.result() if nvcc else None
        if mine.returncode == 2 or (theirs and theirs.returncode != 0):
            return self.blame(snippets, std)
        values = self.values(mine.stdout)
        if mine.returncode != 0:
            self.failures.append(f"{name}: {mine.stderr[:1500]}")
        both = [s for s in snippets if s.run == "both"]
        reference = {}
        if theirs and both:
            run = self.ours(path, std, [path[:-3] + ".ptx"])
            reference = self.values(run.stdout)
            if run.returncode != 0:
                self.failures.append(f"{name}, nvcc's PTX: {run.stdout[:500]}{run.stderr[:1500]}")
        for s in snippets:
            if s.run == "no":
                continue
            result = values.get(s.name)
            if result is None or result.startswith("cuda"):
                self.failures.append(f"{s.name}: {result or 'no result'}")
            if s.expect is not None and result != " ".join([s.expect] * 32):
                self.failures.append(f"{s.name}: expected {s.expect}, got {result}")
            if theirs and s.run == "both" and reference.get(s.name) != result:
                self.failures.append(f"{s.name}: ours {result}\n   nvcc's PTX {reference.get(s.name)}")

    @staticmethod
    def values(text):
        return dict(line.split(" ", 1) for line in text.splitlines() if " " in line)

    def refused(self, snippets):
        def one(s):
            path = self.write("refused_" + s.name, [s])
            if self.ours(path, s.std).returncode != 2:
                return f"{s.name}: this front end accepts it"
            if NVCC and self.nvcc(path, s.std).returncode == 0:
                return f"{s.name}: nvcc accepts it"
            return None
        with ThreadPoolExecutor(2) as pool:
            self.failures += [f for f in pool.map(one, snippets) if f]


def main():
    snippets = read_snippets()
    if len(sys.argv) > 2:
        snippets = [s for s in snippets if re.search(sys.argv[2], s.name)]
    folder = tempfile.mkdtemp()
    runner = Runner(sys.argv[1], folder)
    try:
        compiled = [s for s in snippets if not s.refused]
        for std in sorted({s.std for s in compiled}):
            of_std = [s for s in compiled if s.std == std]
            for runs in (True, False):
                group = [s for s in of_std if (s.run == "both") == runs]
                if group:
                    runner.batch(f"{std.replace('+', 'p')}_{'run' if runs else 'compile'}", std, group)
        runner.refused([s for s in snippets if s.refused])
    finally:
        shutil.rmtree(folder)
    for failure in runner.failures:
        print(failure)
    print(f"{len(snippets)} constructs{'' if NVCC else ' (no nvcc here)'}, {len(runner.failures)} disagree")
    sys.exit(1 if runner.failures else 0)


if __name__ == "__main__":
    main()
