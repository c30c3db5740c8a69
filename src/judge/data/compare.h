#pragma once

// Outputs against what was expected, and what a difference looks like.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "judge/data/call_data.h"

namespace fb::judge {

// The first wrong element of one output of one rank, and how many there are.
struct Mismatch {
  int rank = 0;
  size_t tensor = 0;
  int64_t index = 0, last = 0;  // the first and the last wrong element
  int64_t wrong = 0, elements = 0;
  int64_t poison = 0;  // of the wrong ones: still hold what was there before the call
  double expected = 0, bound = 0, got = 0;
};

std::optional<Mismatch> compare(const Layout::Slot& slot, int rank, size_t tensor, const Expected& expected,
                                std::span<const std::byte> got, std::span<const std::byte> poison);

// Looks for the reason: the value of an earlier call, a rank's own input, a sum without one rank. `before` is the call
// before this one, or null.
std::string explain(const Mismatch& mismatch, const Layout& layout, const CallData& call, const CallData* before,
                    std::span<const std::byte> got);

// One line: "out[5] on rank 2 is 3.5, expected 4.25 (±1e-06)".
std::string summarize(const Mismatch& mismatch, const Layout& layout);

}  // namespace fb::judge
