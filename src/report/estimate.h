#pragma once

// Figures with intervals. All intervals are closed formulas at 95 %: no draws, so that a report of the same run is the
// same everywhere. They answer: how far could the figure be if other problems of the same kind had been chosen, and the
// model been asked anew? docs/report.md says how they are meant.

#include <cstdint>
#include <optional>
#include <span>

namespace fb::report {

struct Interval {
  double low = 0, high = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

// A figure. No value: there is nothing it could be computed from. A value without an interval: it comes from too little
// to say how far it could be off.
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

// The mean of problems' shares, each in [0, 1], with Wilson's interval for as many trials as the shares are worth: at
// least one for each problem, at most `most_trials` (their samples). No shares: no value.
Estimate mean_share(std::span<const double> shares, double most_trials);

// The geometric mean of problems' ratios, whose logarithms are given, with Student's interval of the logarithms' mean.
// One ratio: no interval.
Estimate geometric_mean(std::span<const double> logarithms);

// The mean with an interval that also holds errors of the ratios themselves, whose logarithms' errors are given. All
// come from the same constants, so they may point the same way: the mean of ratios is off by as much as their errors'
// mean.
Estimate widened(const Estimate& mean, std::span<const double> errors);

// share × mean, and its interval by the method of variance estimates recovery (MOVER) from those of both. Share 0: the
// product is 0, whatever the mean, and reaches up to the share's upper end, as if at the reference's speed.
Estimate product(const Estimate& share, const Estimate& mean);

// Whether the two intervals leave it open which is larger. Where one is missing, they do.
bool overlap(const Estimate& a, const Estimate& b);

}  // namespace fb::report
