#pragma once

#include <string>

#include "base/result.h"

namespace fb::toolchain {

struct Locations {
  std::string compiler;  // path of clang++ 19
  std::string sdk;       // folder that holds include/cuda_runtime.h
};

// The compiler: $FABRICBENCH_CLANG, else clang++-19 in $PATH. The SDK: $FABRICBENCH_SDK, else
// ../share/fabricbench/sdk beside the running program, else the source tree this program was built from.
Result<Locations> locate();

}  // namespace fb::toolchain
