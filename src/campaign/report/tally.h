#pragma once

// Sums over the samples of a problem, and the scores of a set of problems.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "campaign/report/summary.h"
#include "common/record/attempt.h"

namespace fb::report {

// The outcome's index in kOutcomes. An answer without a verdict counts as infra.
size_t outcome_index(const record::Attempt& attempt);
bool counts(const record::Attempt& attempt);

// The best of a sample's attempts of rounds up to `last_round`: the fastest that passed, the first of equals.
const record::Attempt* best_attempt(std::span<const record::Attempt> attempts, uint32_t last_round);

// The logarithm of a speed or sol for a geometric mean; none unless it is above 0.
std::optional<double> logarithm(const std::optional<double>& ratio);

struct Tally {
  uint32_t samples = 0, passed = 0, good = 0;
  uint32_t with_speed = 0, with_sol = 0;
  double log_speeds = 0, log_sols = 0;  // sums
  double log_speed_errors = 0;          // sum of the errors of the logarithms that verdicts state

  // One sample that counts; `best` is null where it did not pass.
  void add(const record::Attempt* best, double good_speed);
};

Scores score(std::span<const Tally> problems);
// pass@k for each k; `ks` ascend.
std::vector<PassAt> pass_at(std::span<const Tally> problems, std::span<const uint32_t> ks);

}  // namespace fb::report
