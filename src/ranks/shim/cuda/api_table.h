#pragma once

#include <string_view>

namespace fb::shim {

// A function of the driver API by the name that programs write, as a program built for `version` (13000 for 13.0) knows
// it; null: there is none. Declared functions are found as well: they answer for themselves.
void* find_driver_function(std::string_view name, int version);
// A function of the runtime API, or one that compiled code calls; null: there is none.
void* find_runtime_function(std::string_view name);

}  // namespace fb::shim
