#pragma once

// Older contents of memory, for weak delivery: a store that is not ordered before a load may not have arrived yet.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "race/mark.h"

namespace fb::race {

// What a write has replaced.
struct Past {
  uint8_t begin = 0, end = 0;  // in its line
  // Somebody has seen the write and said so to others: nobody may read older bytes. Null: nobody has seen it yet.
  std::shared_ptr<bool> settled;
  Mark by;
  uint64_t number = 0;            // of the write, among all
  std::vector<uint64_t> seen_by;  // warps that have seen the write
  std::vector<std::byte> bytes;   // [begin, end) as they were
};

// Of one line, the newest last.
struct Pasts {
  std::vector<Past> list;
};

inline constexpr size_t kMostPasts = 6;

}  // namespace fb::race
