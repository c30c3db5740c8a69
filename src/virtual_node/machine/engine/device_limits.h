#pragma once

#include <cstdint>

namespace fb::machine {

// What a device can hold at once. The defaults are an H100 SXM (CUDA programming guide, compute capability 9.0).
struct DeviceLimits {
  uint32_t sms = 132;
  uint32_t threads_per_sm = 2048;
  uint32_t blocks_per_sm = 32;
  uint32_t registers_per_sm = 65536;
  uint32_t shared_per_sm = 228 * 1024;
  uint32_t shared_per_block = 227 * 1024;
  uint32_t shared_reserved_per_block = 1024;
  uint32_t threads_per_block = 1024;
  uint32_t blocks_per_cluster = 16;
  uint64_t memory = 80ull << 30;
  uint64_t heap = 8ull << 20;  // malloc in kernels
};

}  // namespace fb::machine
