#pragma once

#include <string_view>

#include "common/base/result.h"

namespace fb::toolchain {

// The output of clang as Errors: errors and their notes, without warnings. Never empty: output without an error in
// clang's format becomes one error as a whole.
Errors parse_diagnostics(std::string_view output, std::string_view source);

// The same of nvcc's output: "solution.cu(12): error: text". Without such a line it is gcc's or the linker's.
Errors parse_nvcc_diagnostics(std::string_view output, std::string_view source);

// "file:line:column" of a message; `source` is the file that its location is in.
std::string place_of(const Diagnostic& message, std::string_view source);

// The __managed__ variables that clang does not support and warned about; empty if there are none.
Errors find_managed_variables(std::string_view output, std::string_view source);

}  // namespace fb::toolchain
