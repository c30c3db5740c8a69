#pragma once

// What the machine's own parser says of compiled device code, before anything runs.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace fb::toolchain {

// Errors: no PTX, each as "solution.cu:12: message", where the text says which source line it comes from. A value: what
// is PTX by NVIDIA's manual and not known to the machine, likewise; empty if there is none.
Result<std::vector<std::string>> check_ptx(std::string_view ptx);

// Whether the functions that `driver` calls are those of `candidate` (common/ptx/link/link.h).
Result<void> check_link(std::string_view candidate, std::string_view driver);

// The 64-bit words with which a variable of the module is initialised; none: there is no such variable.
std::vector<uint64_t> words_of_variable(std::string_view ptx, std::string_view variable);

}  // namespace fb::toolchain
