#pragma once

// Room on the streaming multiprocessors. A block is resident from its start to its end; a grid of waiting blocks larger
// than the device hangs here as it does on hardware.

#include <cstdint>
#include <optional>
#include <vector>

#include "virtual_node/machine/engine/device_limits.h"
#include "virtual_node/simt/block.h"

namespace fb::machine {

// The resources of one block.
struct BlockNeeds {
  uint32_t threads = 0;
  uint32_t registers = 0;
  uint32_t shared = 0;
  uint32_t registers_of_thread = 0;
};

BlockNeeds needs_of(const simt::Grid& grid, const DeviceLimits& limits);

// Whether a multiprocessor can hold a block of threads with so many registers each.
bool registers_fit(uint32_t registers, uint64_t threads, const DeviceLimits& limits);

class SmSlots {
 public:
  explicit SmSlots(const DeviceLimits& limits);

  // The SM with the fewest resident blocks that has room; none: wait until one ends.
  std::optional<uint32_t> take(const BlockNeeds& needs);
  void give_back(uint32_t sm, const BlockNeeds& needs);

  uint32_t threads_on(uint32_t sm) const { return used_[sm].threads; }

  // Blocks of this kind that the whole device holds at once.
  uint64_t capacity(const BlockNeeds& needs) const;

 private:
  struct Used {
    uint32_t blocks = 0, threads = 0, registers = 0, shared = 0;
  };
  bool fits(const Used& used, const BlockNeeds& needs) const;

  DeviceLimits limits_;
  std::vector<Used> used_;
};

}  // namespace fb::machine
