#pragma once

#include <span>

namespace fb::shim {

// The source line that a return address belongs to, "file.cu:12"; empty where the program has no line table.
void line_of(const void* return_address, std::span<char> into);

// The return address in the innermost caller that is no code of this library; null where there is none.
const void* caller_outside();

}  // namespace fb::shim
