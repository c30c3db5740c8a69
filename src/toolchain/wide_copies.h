#pragma once

#include <string>
#include <string_view>

namespace fb::toolchain {

// clang copies a float4 or an int4 with llvm.memcpy, which becomes two 8-byte accesses, or four of 4 bytes where a
// member is used; nvcc copies it with one vector access, and that is what its author means. Returns LLVM's IR with
// small aligned copies as loads and stores of vectors. It must not have been optimised yet: LLVM then keeps the vectors
// whole.
std::string widen_copies(std::string_view llvm_ir);

}  // namespace fb::toolchain
