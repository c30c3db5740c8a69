#include <fabricbench/oracle.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

using namespace fabricbench::oracle;

constexpr double kFloat = unit_roundoff(DType::f32);
constexpr double kClamp = 5;

// Ranks have very different numbers of positions that count: none, few, half of them, all. What does not count is a
// large number or NaN. In a third of the calls ratios are near 1, in a third they are spread, and in a third many are
// clamped; nothing is next to the clamp. Advantages are positive more often than not.
void fill(Case& c) {
  constexpr int64_t kDensity[] = {0, 8, 8, 128, 128, 128, 250, 256};  // of 256
  constexpr double kSpread[] = {0.25, 2.5, 10};
  const double spread = kSpread[c.random.below(3)];
  for (int r = 0; r < c.world(); ++r) {
    const auto now = c.input<float>("new_logprob", r), old = c.input<float>("old_logprob", r);
    const auto advantage = c.input<float>("advantage", r);
    const auto mask = c.input<uint8_t>("mask", r);
    const int64_t density = kDensity[c.random.below(8)];
    const double here = spread * c.random.between(0.5, 1), shift = spread * c.random.between(-0.2, 0.2);
    for (size_t t = 0; t < now.size(); ++t) {
      mask[t] = c.random.below(256) < density ? 1 : 0;
      if (mask[t] == 0) {
        const float any = c.random.below(2) == 0 ? 1e30F : std::numeric_limits<float>::quiet_NaN();
        now[t] = old[t] = advantage[t] = any;
        continue;
      }
      double x = here * c.random.between(-1, 1) + shift;
      if (std::fabs(std::fabs(x) - kClamp) < 0.011) x *= 0.98;
      const double p = c.random.unit();
      const auto likelier = static_cast<float>(-12 * p * p * p);  // most tokens are likely ones
      now[t] = x > 0 ? likelier : static_cast<float>(likelier + x);
      old[t] = x > 0 ? static_cast<float>(likelier - x) : likelier;
      advantage[t] = static_cast<float>(c.random.between(-2.5, 4));
    }
  }
}

// Of a number that is added up: how much it may be off by itself, its size, and the sum.
struct Mean {
  double sum = 0, size = 0, error = 0;
  void add(double value, double off) {
    sum += value;
    size += std::fabs(value);
    error += off;
  }
};

// x is a difference of two floats, rounded once; so d is off by |d| units at most, w by these, by the product with
// log2(e) (|d| units again) and by 4 units of the exponential: 3 * 5 + 4 units, of which it has 20 here. A product
// rounds once more. Of w - d - 1 the three parts are added up as if they were single numbers.
//
// A number takes part in at most 4,096 additions (the statement says so), or in as many as there are terms, three for
// each position. A mean then has up to 5 roundings: the count as a float, a division that is right to 2 units in the
// last place, or a reciprocal and a product. Output::set adds one.
void expect(Case& c) {
  constexpr double kRatio = 20 * kFloat;
  Mean weighted, ratio, divergence, surprise;
  double least = std::numeric_limits<double>::infinity(), largest = 0;
  int64_t count = 0, clamped = 0;
  for (int r = 0; r < c.world(); ++r) {
    const auto now = c.input<float>("new_logprob", r), old = c.input<float>("old_logprob", r);
    const auto advantage = c.input<float>("advantage", r);
    const auto mask = c.input<uint8_t>("mask", r);
    for (size_t t = 0; t < now.size(); ++t) {
      if (mask[t] == 0) continue;
      const double x = static_cast<double>(now[t]) - static_cast<double>(old[t]);
      const double d = std::clamp(x, -kClamp, kClamp), w = std::exp(d), product = w * static_cast<double>(advantage[t]);
      ++count;
      if (std::fabs(x) > kClamp) ++clamped;
      weighted.add(product, std::fabs(product) * (kRatio + kFloat));
      ratio.add(w, w * kRatio);
      divergence.add(w - d - 1, w * kRatio + std::fabs(d) * kFloat);
      divergence.size += w + std::fabs(d) + 1 - (w - d - 1);
      surprise.add(-static_cast<double>(now[t]), 0);
      least = std::fmin(least, w);
      largest = std::fmax(largest, w);
    }
  }
  const auto divisor = static_cast<double>(std::max<int64_t>(count, 1));
  const double additions = std::fmin(3 * divisor, 4096);
  const auto set = [&](Output out, int64_t i, const Mean& mean, double sign) {
    const double value = sign * mean.sum / divisor;
    const double sum_off = mean.error + additions * kFloat * (mean.size + mean.error);
    out.set(i, value, (sum_off + 5 * kFloat * (std::fabs(mean.sum) + sum_off)) / divisor);
  };
  set(c.output("loss"), 0, weighted, -1);
  Output metrics = c.output("metrics");
  set(metrics, 0, ratio, 1);
  metrics.set(1, count == 0 ? 0 : least, count == 0 ? 0 : least * kRatio);
  metrics.set(2, largest, largest * kRatio);
  set(metrics, 3, divergence, 1);
  set(metrics, 4, surprise, 1);
  const double share = static_cast<double>(clamped) / divisor;
  metrics.set(5, share, share * 5 * kFloat);
  c.output("count").set(0, static_cast<double>(count));

  for (int r = 0; r < c.world(); ++r) {
    const auto now = c.input<float>("new_logprob", r), old = c.input<float>("old_logprob", r);
    const auto advantage = c.input<float>("advantage", r);
    const auto mask = c.input<uint8_t>("mask", r);
    Output dnew = c.output("dnew", r);
    for (size_t t = 0; t < now.size(); ++t) {
      const double x = static_cast<double>(now[t]) - static_cast<double>(old[t]);
      if (mask[t] == 0 || std::fabs(x) > kClamp) {
        dnew.set(static_cast<int64_t>(t), 0);
      } else {
        const double value = -std::exp(x) * static_cast<double>(advantage[t]) / divisor;
        dnew.set(static_cast<int64_t>(t), value, std::fabs(value) * (kRatio + 7 * kFloat));
      }
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
