#pragma once

// Figures with 95 % intervals. All are closed formulas without random draws, so that a report of the same run is the
// same everywhere. An interval covers the choice of problems and the randomness of the model; docs/reference/report.md
// explains it.

#include <cstdint>
#include <optional>
#include <span>

namespace fb::report {

struct Interval {
  double low = 0, high = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

// A figure. No value: no data to compute it from. A value without an interval: too little data for one.
struct Estimate {
  std::optional<double> value = {};
  std::optional<Interval> interval = {};
  friend bool operator==(const Estimate&, const Estimate&) = default;
};

// pass@k of one problem: the chance that at least one of k samples passes, when `passed` of `samples` did. Unbiased:
// 1 - C(samples - passed, k) / C(samples, k). Needs 1 <= k <= samples.
double pass_at_k(uint32_t samples, uint32_t passed, uint32_t k);

// The quantile of Student's t that leaves 2.5 % on each side.
double student_975(uint32_t degrees_of_freedom);

// Wilson's interval for a share `value` seen in `trials` independent trials; trials need not be a whole number.
Interval wilson(double value, double trials);

// The mean of problems' shares, each in [0, 1], with Wilson's interval for the effective number of trials: at least one
// for each problem, at most `most_trials` (their samples). No shares: no value.
Estimate mean_share(std::span<const double> shares, double most_trials);

// The geometric mean of problems' ratios from their logarithms, with Student's interval of the logarithms' mean. One
// ratio: no interval.
Estimate geometric_mean(std::span<const double> logarithms);

// The mean with an interval that includes the errors of the ratios themselves, given as errors of their logarithms.
// These errors are correlated, because all ratios depend on the same constants: the error of the mean is the mean of
// the errors.
Estimate widened(const Estimate& mean, std::span<const double> errors);

// share × mean, with an interval from those of both factors by the method of variance estimates recovery (MOVER). Share
// 0: the product is 0, and its upper end is that of the share, as if at the reference's speed.
Estimate product(const Estimate& share, const Estimate& mean);

// Whether the intervals overlap, so that the order is open. A missing interval overlaps with every other.
bool overlap(const Estimate& a, const Estimate& b);

}  // namespace fb::report
