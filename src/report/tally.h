#pragma once

// What the scores of a problem need to know of its samples, and the scores of a set of problems.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "record/attempt.h"
#include "report/summary.h"

namespace fb::report {

// The outcome's place in kOutcomes. An answer that nobody judged is ours: infra.
size_t outcome_index(const record::Attempt& attempt);
bool counts(const record::Attempt& attempt);

// The best of a sample's attempts of rounds up to `last_round`: the fastest that passed, the first of equals.
const record::Attempt* best_attempt(std::span<const record::Attempt> attempts, uint32_t last_round);

// What a speed or sol can enter a geometric mean with; none where there is none above 0.
std::optional<double> logarithm(const std::optional<double>& ratio);

struct Tally {
  uint32_t samples = 0, passed = 0, good = 0;
  uint32_t with_speed = 0, with_sol = 0;
  double log_speeds = 0, log_sols = 0;  // sums
  double log_speed_errors = 0;          // sum: how far the logarithms may be off, as far as verdicts say

  // One sample that counts; `best` is null where it did not pass.
  void add(const record::Attempt* best, double good_speed);
};

Scores score(std::span<const Tally> problems);
// pass@k for each k, which rise.
std::vector<PassAt> pass_at(std::span<const Tally> problems, std::span<const uint32_t> ks);

}  // namespace fb::report
