#pragma once

#include <cstddef>
#include <cstdint>

#include "virtual_node/mem/layout.h"

namespace fb::simt {

struct Inst;

// Bytes that a waiting loop has read: host address and, for reports, the guest's.
struct WatchedRead {
  const std::byte* host = nullptr;
  mem::Address guest = 0;
  uint32_t bytes = 0;
  const Inst* inst = nullptr;
  std::byte seen[32] = {};
};

}  // namespace fb::simt
