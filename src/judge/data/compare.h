#pragma once

// Outputs against what was expected, and what a difference looks like.

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "judge/data/call_data.h"
#include "judge/data/mismatch.h"

namespace fb::judge {

std::optional<Mismatch> compare(const Layout::Slot& slot, int rank, size_t tensor, const Expected& expected,
                                std::span<const std::byte> got, std::span<const std::byte> poison);

// Looks for the reason: the value of an earlier call, a rank's own input, a sum without one rank. `before` is the call
// before this one, or null.
std::string explain(const Mismatch& mismatch, const Layout& layout, const CallData& call, const CallData* before,
                    std::span<const std::byte> got);

// One line: "out[5] on rank 2 is 3.5, expected 4.25 (±1e-06)".
std::string summarize(const Mismatch& mismatch, const Layout& layout);

}  // namespace fb::judge
