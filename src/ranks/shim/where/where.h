#pragma once

#include <span>
#include <string_view>

namespace fb::shim {

// The source line that a return address belongs to, "file.cu:12"; empty where the program has no line table.
void line_of(const void* return_address, std::span<char> into);

// The same for a call through functions of a header, which may be inlined or not: the line that uses them. Null: the
// caller is looked for.
void line_of_call(const void* return_address, std::string_view header, std::span<char> into);

// The line that launches the kernel `name`, through functions of CUDA's headers and what the compiler makes of a
// launch.
void line_of_launch(std::string_view kernel, std::span<char> into);

// The return address in the innermost caller that is no code of this library; null where there is none.
const void* caller_outside();

}  // namespace fb::shim
