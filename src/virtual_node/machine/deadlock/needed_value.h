#pragma once

// The value that ends a loop that waits for memory: read off the comparison between the load and the branch that closes
// the loop. Empty where the comparison is not understood.

#include <cstdint>
#include <optional>
#include <string>

#include "virtual_node/simt/warp.h"

namespace fb::machine {

enum class Relation : uint8_t { equal, not_equal, less, at_most, more, at_least };

// The loop ends when t(v) <relation> `value`, where t(v) = ((v * sign + add) ^ flip) & mask, in `bits` bits.
struct Need {
  Relation relation{};
  bool is_signed = false;
  uint32_t offset = 0, bytes = 4;  // of the bytes that the loop reads: these are compared
  uint32_t bits = 32;
  bool negative = false;  // sign is -1
  uint64_t add = 0, flip = 0, mask = ~uint64_t{0};
  uint64_t value = 0;

  // The number in the bytes that are compared, of those that the load has read.
  uint64_t part(uint64_t seen) const;
  // `seen`: the bytes that the load has read.
  bool holds(uint64_t seen) const;
  // The one number that the memory is compared with, where it is compared as it is (or as a difference).
  std::optional<uint64_t> number() const;
  // The smallest number that ends a wait for a growing one: 3 for "3", ">= 3" and "> 2".
  std::optional<uint64_t> least() const;
  // "3", ">= 3", "other than 0".
  std::string text() const;
};

// The value that the sleeping split needs in the bytes of `read`; `lane` is one of the lanes that read them.
std::optional<Need> find_need(const simt::Warp& warp, const simt::Split& split, const simt::WatchedRead& read,
                              uint32_t lane);

}  // namespace fb::machine
