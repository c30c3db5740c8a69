#pragma once

// Functions that guest code calls without a definition: printf, assert, malloc, and the mathematical library. The
// machine supplies them by their C names.

#include <string_view>

#include "virtual_node/simt/inst.h"

namespace fb::simt {

// Null: no such function.
Builtin find_builtin(std::string_view name);

}  // namespace fb::simt
