#pragma once

#include <string>
#include <string_view>

namespace fb::toolchain {

// LLVM IR in which sinf and other functions of single precision are what __sinf and its kin are for nvcc:
// -use_fast_math.
std::string with_fast_functions(std::string_view llvm_ir);

}  // namespace fb::toolchain
