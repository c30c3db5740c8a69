#pragma once

// Compares the bytes that a problem states its algorithm moves ([cost] of problem.toml) with the bytes that its
// reference moved on the virtual node.

#include <string>
#include <vector>

#include "common/record/verdict.h"
#include "judge/catalog/problem.h"

namespace fb::prove {

// Mean over seeds of the bytes moved at each timed size. Some references move bytes that depend on the inputs.
class MovedBytes {
 public:
  void add(const std::vector<record::Timing>& timings);

  // Empty if stated and counted bytes agree within 10 % at the timed size with the most stated link bytes, and its time
  // is extrapolated where it is sampled; else what differs. docs/reference/problems.md defines link bytes.
  std::string difference(const catalog::Problem& problem) const;
  // Calls of that size so far.
  int counted(const catalog::Problem& problem) const { return sizes_.empty() ? 0 : largest(problem).counted; }

 private:
  struct Size {
    record::Timing timing;                                       // the first
    double link_bytes = 0, memory_bytes = 0, network_bytes = 0;  // sums
    int counted = 0;                                             // calls
  };
  const Size& largest(const catalog::Problem& problem) const;

  std::vector<Size> sizes_ = {};
};

}  // namespace fb::prove
