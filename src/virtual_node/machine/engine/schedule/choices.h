#pragma once

// Follows a list of choices and records the options of each, so that launcher::explore_all() can try the others.

#include <cstdint>
#include <utility>
#include <vector>

#include "common/record/run_record.h"

namespace fb::machine {

class Choices {
 public:
  explicit Choices(std::vector<uint32_t> first) : first_(std::move(first)) {}

  // One of `options` (more than one). `interrupts`: any other than the first preempts a warp that could go on.
  uint32_t take(uint32_t options, bool interrupts) {
    const size_t k = taken_.size();
    if (k == kMost) return 0;
    // Out-of-range choice (list recorded for another program): take 0; explore_all() detects the divergence.
    const uint32_t choice = k < first_.size() && first_[k] < options ? first_[k] : 0;
    taken_.push_back({choice, options, interrupts});
    return choice;
  }
  const std::vector<record::Choice>& taken() const { return taken_; }

 private:
  static constexpr size_t kMost = 1'000'000;  // far more than can be explored

  std::vector<uint32_t> first_;
  std::vector<record::Choice> taken_;
};

}  // namespace fb::machine
