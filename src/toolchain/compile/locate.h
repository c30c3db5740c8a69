#pragma once

#include <string>

#include "common/base/result.h"
#include "toolchain/compile/device_compiler.h"

namespace fb::toolchain {

struct Locations {
  std::string compiler;   // path of clang++ 19
  std::string sdk;        // folder that holds include/cuda_runtime.h
  std::string nvcc = {};  // empty: not asked for
};

// The compiler: $FABRICBENCH_CLANG, else clang++-19 in $PATH. The SDK: $FABRICBENCH_SDK, else
// ../share/fabricbench/sdk beside the running program, else the source tree this program was built from. nvcc only
// where it compiles device code.
Result<Locations> locate(DeviceCompiler device = DeviceCompiler::clang);
Result<std::string> find_compiler();

// The folder of libcudart.so and libcuda.so, which programs are linked with: $FABRICBENCH_LIB, else ../lib/fabricbench
// beside the running program.
Result<std::string> locate_libraries();

// NVIDIA's compiler: $FABRICBENCH_CUDA (a toolkit's folder, or nvcc itself), else nvcc in $PATH, in
// /usr/local/cuda/bin, or that of the active virtual environment of Python. Errors say how to get it.
Result<std::string> locate_nvcc();

// A folder as that of a CUDA toolkit (bin/nvcc, include, lib64, nvvm/libdevice), for build systems that look for one:
// $FABRICBENCH_TOOLKIT, else ../lib/fabricbench/toolkit beside the running program.
std::string locate_toolkit();

// A program by its name in $PATH, or by its path if that has a slash. Empty if there is none.
std::string find_program(const std::string& name);

}  // namespace fb::toolchain
