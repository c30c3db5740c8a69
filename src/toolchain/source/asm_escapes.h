#pragma once

#include <string>
#include <string_view>

namespace fb::toolchain {

// nvcc accepts asm("mov.u32 %0, %laneid;" : …); clang requires the % before a name to be doubled. nvcc also accepts
// operands without a comma between them, and numbers beyond the operands in templates that are never instantiated.
// Doubles the %, adds the commas, and changes nothing else; line numbers stay.
std::string escape_asm(std::string_view source);

}  // namespace fb::toolchain
