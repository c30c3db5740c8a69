#pragma once

// Older contents of memory, for weak delivery: a store that is not ordered before a load may not be visible to it yet.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "virtual_node/race/shadow/flag.h"
#include "virtual_node/race/shadow/shadow_cell.h"

namespace fb::race {

// The bytes that a write replaced.
struct StaleValue {
  uint8_t begin = 0, end = 0;  // in its line
  // True once an agent has read the new value with a strong load and then released: no load may return the older bytes
  // any more. Null: the write has not been read by a strong load.
  std::shared_ptr<bool> published;
  ShadowCell by;
  uint64_t number = 0;            // of the write, among all
  std::vector<uint64_t> seen_by;  // warps that have read the new value
  std::vector<std::byte> bytes;   // [begin, end) before the write
  ReleasesRef releases;           // that came with these bytes, where a card has replaced them; else null
};

// Per line.
inline constexpr size_t kMostStaleValues = 6;

}  // namespace fb::race
