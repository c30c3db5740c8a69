#pragma once

// Descriptors that name memory of a device, for other drivers (DMA-BUF). They mean something in the process that has
// made them.

#include <cstddef>
#include <cstdint>

#include "ranks/shim/cuda/core/error.h"

namespace fb::shim {

// `address` and `bytes`: of memory of a device.
Error make_dma_buffer(uint64_t address, uint64_t bytes, int& descriptor);
// False: the descriptor is none of these.
bool find_dma_buffer(int descriptor, uint64_t& address, uint64_t& bytes);

}  // namespace fb::shim
