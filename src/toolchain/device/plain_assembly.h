#pragma once

#include <string>
#include <string_view>

namespace fb::toolchain {

// LLVM IR whose inline assembly may be repeated and moved between branches, where its text concerns one thread alone.
// clang takes all of it for something that concerns the warp, and unrolls no loop with it; nvcc does.
std::string with_plain_assembly(std::string_view llvm_ir);

}  // namespace fb::toolchain
