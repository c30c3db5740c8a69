#pragma once

#include <string>
#include <string_view>

namespace fb::toolchain {

// clang copies a float4 or an int4 with llvm.memcpy, which becomes two 8-byte accesses, or four of 4 bytes where a
// member is used; nvcc copies it with one vector access, as the author intends. Returns the LLVM IR with small aligned
// copies as vector loads and stores. The IR must not be optimised yet: LLVM then keeps the vectors whole.
std::string widen_copies(std::string_view llvm_ir);

}  // namespace fb::toolchain
