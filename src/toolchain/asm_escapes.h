#pragma once

#include <string>
#include <string_view>

namespace fb::toolchain {

// nvcc takes asm("mov.u32 %0, %laneid;" : …), clang wants the % of a special register doubled. Doubles it in the string
// literals of asm statements that have operands, and changes nothing else; lines stay lines.
std::string escape_special_registers(std::string_view source);

}  // namespace fb::toolchain
