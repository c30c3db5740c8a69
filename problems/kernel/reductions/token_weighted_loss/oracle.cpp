#include <fabricbench/oracle.h>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace fabricbench::oracle;

constexpr double kFloat = unit_roundoff(DType::f32);

// Ranks have very different numbers of tokens that count: none, few, half of them, all. What does not count is a large
// number or NaN.
void fill(Case& c) {
  constexpr int64_t kDensity[] = {0, 8, 8, 128, 128, 128, 250, 256};  // of 256
  for (int r = 0; r < c.world(); ++r) {
    const auto loss = c.input<float>("loss", r);
    const auto mask = c.input<uint8_t>("mask", r);
    const int64_t density = kDensity[c.random.below(8)];
    for (size_t t = 0; t < loss.size(); ++t) {
      const uint64_t bits = c.random.bits();
      mask[t] = static_cast<int64_t>(bits % 256) < density ? 1 : 0;
      loss[t] = static_cast<float>(bits >> 40) * 0x1p-24F * 12;  // up to 12, about that of a guess among 128,256 words
      if (mask[t] == 0) loss[t] = (bits >> 8) % 2 == 0 ? 1e30F : std::numeric_limits<float>::quiet_NaN();
    }
  }
}

// Losses are positive, and each takes part in at most 4,096 additions (the statement says so), or in as many as there
// are terms. The mean then has up to 4 roundings more, the scale up to 5: the count as a float, a division that is
// right to 2 units in the last place; a product where the scale is formed by 1 / count. Output::set adds one.
void expect(Case& c) {
  double sum = 0;
  int64_t count = 0;
  for (int r = 0; r < c.world(); ++r) {
    const auto loss = c.input<float>("loss", r);
    const auto mask = c.input<uint8_t>("mask", r);
    for (size_t t = 0; t < loss.size(); ++t) {
      if (mask[t] == 0) continue;
      sum += static_cast<double>(loss[t]);
      ++count;
    }
  }
  const auto divisor = static_cast<double>(std::max<int64_t>(count, 1));
  const double mean = sum / divisor, scale = c.world() / divisor;
  c.output("mean_loss").set(0, mean, (std::fmin(divisor, 4096) + 5) * kFloat * mean);
  c.output("count").set(0, static_cast<double>(count));
  for (int r = 0; r < c.world(); ++r) {
    const auto mask = c.input<uint8_t>("mask", r);
    Output dloss = c.output("dloss", r);
    for (size_t t = 0; t < mask.size(); ++t) {
      if (mask[t] == 0) {
        dloss.set(static_cast<int64_t>(t), 0);
      } else {
        dloss.set(static_cast<int64_t>(t), scale, 6 * kFloat * scale);
      }
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
