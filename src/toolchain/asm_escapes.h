#pragma once

#include <string>
#include <string_view>

namespace fb::toolchain {

// nvcc accepts asm("mov.u32 %0, %laneid;" : …); clang requires the % of a special register to be doubled. Doubles it in
// the string literals of asm statements with operands and changes nothing else; line numbers stay.
std::string escape_special_registers(std::string_view source);

}  // namespace fb::toolchain
