#pragma once

#include <string>
#include <string_view>

namespace fb::toolchain {

// clang 19 has no __grid_constant__, its code generator has: a parameter that is marked so is read where the launch put
// it, and not copied to local memory when its address is taken. The SDK's macro leaves an annotation of the parameter
// in the IR; this makes the code generator's mark of it.
std::string mark_grid_constants(std::string llvm_ir);

}  // namespace fb::toolchain
