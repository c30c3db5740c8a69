#include "campaign/report/estimate.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "common/base/check.h"

namespace fb::report {
namespace {

// The quantile of the normal distribution that leaves 2.5 % on each side.
constexpr double kNormal975 = 1.959963984540054;

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Unbiased; needs two values.
double variance(std::span<const double> values, double around) {
  double sum = 0;
  for (const double value : values) sum += (value - around) * (value - around);
  return sum / (static_cast<double>(values.size()) - 1);
}

// P(|T| <= t) for Student's T. For integer degrees of freedom this is a finite sum (Abramowitz and
// Stegun, 26.7.3 and 26.7.4).
double student_within(double t, uint32_t degrees_of_freedom) {
  const double n = degrees_of_freedom;
  const double angle = std::atan(t / std::sqrt(n)), cosine2 = n / (n + t * t);
  const bool odd = degrees_of_freedom % 2 == 1;
  double sum = 0, term = 1;
  for (uint32_t k = odd ? 3 : 2; k <= degrees_of_freedom; k += 2) {
    sum += term;
    term *= cosine2 * (k - 1) / k;
  }
  if (!odd) return std::sin(angle) * sum;
  return 2 / std::numbers::pi * (angle + std::sin(angle) * std::cos(angle) * sum);
}

}  // namespace

double pass_at_k(uint32_t samples, uint32_t passed, uint32_t k) {
  FB_CHECK(k >= 1 && k <= samples && passed <= samples);
  if (samples - passed < k) return 1;
  // C(n - c, k) / C(n, k) as a product of factors below 1, which cannot overflow.
  double none = 1;
  for (uint32_t i = samples - passed + 1; i <= samples; ++i) none *= 1 - static_cast<double>(k) / i;
  return 1 - none;
}

double student_975(uint32_t degrees_of_freedom) {
  FB_CHECK(degrees_of_freedom >= 1);
  double low = 0, high = 16;  // one degree of freedom: 12.7
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (student_within(middle, degrees_of_freedom) < 0.95 ? low : high) = middle;
  }
  return (low + high) / 2;
}

Interval wilson(double value, double trials) {
  const double z2 = kNormal975 * kNormal975;
  const double centre = (value + z2 / (2 * trials)) / (1 + z2 / trials);
  const double half =
      kNormal975 / (1 + z2 / trials) * std::sqrt(value * (1 - value) / trials + z2 / (4 * trials * trials));
  // At 0 and at 1 the formula yields 0 and 1 up to rounding.
  return {value <= 0 ? 0 : std::max(0.0, centre - half), value >= 1 ? 1 : std::min(1.0, centre + half)};
}

Estimate mean_share(std::span<const double> shares, double most_trials) {
  if (shares.empty()) return {};
  const auto problems = static_cast<double>(shares.size());
  const double value = std::clamp(mean(shares), 0.0, 1.0);
  // Shares of one sample each have the variance value (1 - value). Shares of several samples have less and count as
  // more trials, reduced by Student's factor for a variance estimated from few problems. Shares that are all 0 or all 1
  // say nothing about the variance.
  double trials = problems;
  if (shares.size() > 1 && value > 0 && value < 1) {
    const double student = kNormal975 / student_975(static_cast<uint32_t>(shares.size()) - 1);
    const double worth = value * (1 - value) / std::max(variance(shares, value), 1e-12) * student * student;
    trials = std::clamp(problems * worth, problems, std::max(problems, most_trials));
  }
  return {value, wilson(value, trials)};
}

Estimate geometric_mean(std::span<const double> logarithms) {
  if (logarithms.empty()) return {};
  const double centre = mean(logarithms);
  if (logarithms.size() == 1) return {std::exp(centre), std::nullopt};
  const auto count = static_cast<uint32_t>(logarithms.size());
  const double half = student_975(count - 1) * std::sqrt(variance(logarithms, centre) / count);
  return {std::exp(centre), Interval{std::exp(centre - half), std::exp(centre + half)}};
}

Estimate widened(const Estimate& mean_ratio, std::span<const double> errors) {
  if (!mean_ratio.interval || errors.empty()) return mean_ratio;
  const double centre = *mean_ratio.value, error = mean(errors);
  const double below = std::hypot(std::log(centre / mean_ratio.interval->low), error);
  const double above = std::hypot(std::log(mean_ratio.interval->high / centre), error);
  return {centre, Interval{centre * std::exp(-below), centre * std::exp(above)}};
}

Estimate product(const Estimate& share, const Estimate& mean) {
  if (!share.value) return {};
  if (*share.value <= 0) return {0.0, share.interval ? std::optional(Interval{0, share.interval->high}) : std::nullopt};
  if (!mean.value) return {};
  const double value = *share.value * *mean.value;
  if (!share.interval || !mean.interval) return {value, std::nullopt};
  // Distances of logarithms add like independent errors.
  const double below =
      std::hypot(std::log(*share.value / share.interval->low), std::log(*mean.value / mean.interval->low));
  const double above =
      std::hypot(std::log(share.interval->high / *share.value), std::log(mean.interval->high / *mean.value));
  return {value, Interval{value * std::exp(-below), value * std::exp(above)}};
}

bool overlap(const Estimate& a, const Estimate& b) {
  if (!a.interval || !b.interval) return true;
  return a.interval->low <= b.interval->high && b.interval->low <= a.interval->high;
}

}  // namespace fb::report
