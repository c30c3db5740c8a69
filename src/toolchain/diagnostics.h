#pragma once

#include <string_view>

#include "base/result.h"

namespace fb::toolchain {

// What clang printed, as Errors: errors, and the notes that belong to them, but no warnings. Never empty: text without
// any error in clang's form becomes one error as a whole.
Errors parse_diagnostics(std::string_view output, std::string_view source);

// The __managed__ variables that clang warned of and does not support; empty where there are none.
Errors find_managed_variables(std::string_view output, std::string_view source);

}  // namespace fb::toolchain
