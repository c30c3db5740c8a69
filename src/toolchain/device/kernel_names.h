#pragma once

#include <string>
#include <string_view>

namespace fb::toolchain {

// The kernel's name of a launch function of clang: of "_Z18__device_stub__ringPf" it is "_Z3ringPf". Empty: the symbol
// is no launch function.
std::string kernel_of_stub(std::string_view symbol);

// An object file (ELF, x86-64) with a symbol for each kernel that other files can name, at its launch function: clang
// gives that function another name, and files that another compiler has made refer to nvcc's, which is the kernel's.
std::string with_kernel_names(std::string object);

}  // namespace fb::toolchain
