#pragma once

// The functions by which kernels call CUDA's runtime (device_runtime.h), by the names that nvcc's headers give them.

#include <string_view>

#include "virtual_node/simt/inst.h"

namespace fb::simt {

// Null: no such function.
Builtin find_device_runtime_call(std::string_view name);

}  // namespace fb::simt
