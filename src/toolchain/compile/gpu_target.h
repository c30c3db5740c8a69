#pragma once

// Architectures of GPUs that clang 19 does not know. The machine runs the PTX of any, and clang passes assembly on
// unread, so code for them is compiled as for sm_90, with their macros and their name in the PTX.

#include <cstdint>
#include <string>

#include "toolchain/compile/words.h"

namespace fb::toolchain {

// nvcc's name for GPUs of a compute capability, with all that they have: sm_90a.
std::string architecture_of(uint32_t capability_major, uint32_t capability_minor);

// What clang is told to compile for, given nvcc's name: sm_90 for sm_100 and sm_100a.
std::string clang_architecture(const std::string& architecture);

// How much LLVM unrolls, and what it takes for cheap, so that loops become what nvcc makes of them. It has another LLVM
// for sm_100 and newer than for sm_90 (docs/reference/time.md).
Words optimisation_flags(const std::string& architecture);

// What nvcc defines for device code of this architecture and clang does not.
Words architecture_macros(const std::string& architecture);

// sm_90a is 900 to the preprocessor.
std::string architecture_number(const std::string& architecture);

// PTX that clang made, with the architecture that was asked for.
std::string with_architecture(std::string ptx, const std::string& architecture);

}  // namespace fb::toolchain
