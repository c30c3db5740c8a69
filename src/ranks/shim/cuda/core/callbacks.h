#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>

#include "ranks/shim/cuda/core/error.h"

namespace fb::shim {

// Functions of the program that the machine calls, in stream order, on one thread of their own. The thread starts with
// the first of them.
//
// Gives the number that stands for `run` in wire::Callback. `once`: forgotten when it has run.
Expected<uint64_t> add_callback(std::function<void()> run, bool once);
void forget_callback(uint64_t number);

}  // namespace fb::shim
