#pragma once

#include <string>

namespace fb::toolchain {

// clang places `__device__ const` variables with a constant value in the constant space. Where other files refer to
// them (`extern __device__ const T table[]`) they are in the global space, as nvcc has it: LLVM IR of device code in
// which those that other files can name, and that no `__constant__` marks, are there.
std::string with_global_constants(std::string llvm_ir);

}  // namespace fb::toolchain
