#pragma once

#include <string>
#include <string_view>

namespace fb::toolchain {

// clang 19 knows no managed variables of CUDA. The SDK's __managed__ makes device variables of them, with an annotation
// that survives in the IR. Gives these variables .attribute(.managed) in the PTX, as nvcc does: the machine then has
// them where the host has its variable of this name.
std::string mark_managed(std::string ptx, std::string_view llvm_ir);

}  // namespace fb::toolchain
