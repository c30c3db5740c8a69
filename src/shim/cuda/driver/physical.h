#pragma once

#include "shim/cuda/core/error.h"

namespace fb::shim {

// A mask of CUmemAllocationHandleType: file descriptors only.
Error check_handle_types(unsigned long long types);

// Wrong handles of memory are wrong values to these functions.
Error as_value(Error error);

}  // namespace fb::shim
