#pragma once

#include <string>
#include <string_view>

namespace fb::toolchain {

// An access through a cast has the alignment of the cast's type for nvcc. For clang it has that of the declared object,
// where it sees one behind the cast: 16 accesses of a byte for a uint4 in an array of char. A unary plus hides the
// object and changes nothing else:
//   *reinterpret_cast<uint4*>(&bytes[i])   → *reinterpret_cast<uint4*>(+(&bytes[i]))
//   reinterpret_cast<uint4&>(bytes[i]).x   → (*reinterpret_cast<uint4*>(+&(bytes[i]))).x
//   *(volatile int*)&bytes[i]              → *(volatile int*)+&bytes[i]
//   (uint4&)bytes[i]                       → *(uint4*)+&bytes[i]
std::string with_cast_alignment(std::string_view source);

}  // namespace fb::toolchain
