#pragma once

// Follows a list of choices and writes down which there were, so that somebody can try the others.

#include <cstdint>
#include <utility>
#include <vector>

#include "record/run_record.h"

namespace fb::machine {

class Choices {
 public:
  explicit Choices(std::vector<uint32_t> first) : first_(std::move(first)) {}

  // One of `options` (more than one). `interrupts`: any other than the first stops somebody who could go on.
  uint32_t take(uint32_t options, bool interrupts) {
    const size_t k = taken_.size();
    if (k == kMost) return 0;
    // A list for another program may ask for what there is not; whoever compares finds out.
    const uint32_t choice = k < first_.size() && first_[k] < options ? first_[k] : 0;
    taken_.push_back({choice, options, interrupts});
    return choice;
  }
  const std::vector<record::Choice>& taken() const { return taken_; }

 private:
  static constexpr size_t kMost = 1'000'000;  // far more than anybody can try

  std::vector<uint32_t> first_;
  std::vector<record::Choice> taken_;
};

}  // namespace fb::machine
