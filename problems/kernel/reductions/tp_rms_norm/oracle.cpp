#include <fabricbench/oracle.h>

#include <cmath>
#include <vector>

using namespace fabricbench::oracle;

constexpr double kEpsilon = 1e-5;
constexpr double kFloat = unit_roundoff(DType::f32);

// About half of the rows are so small that epsilon counts.
void fill(Case& c) {
  const auto tokens = static_cast<size_t>(c["tokens"]), hidden = static_cast<size_t>(c["hidden"]);
  for (size_t t = 0; t < tokens; ++t) {
    if (c.random.below(2) == 0) continue;
    for (int r = 0; r < c.world(); ++r) {
      for (bf16& value : c.input<bf16>("x", r).subspan(t * hidden, hidden))
        value = bf16(static_cast<float>(value) * 0x1p-10F);
    }
  }
}

// In float every square is rounded once, takes part in at most world * hidden additions, and the division rounds once
// more: count + 2 roundings, and all terms are positive. 1 / sqrt falls as its argument grows and is convex, so that
// the lower end of the mean is the farther one. Then 8 roundings: the sum with epsilon, 2 units in the last place of
// rsqrtf (4 roundings), two products. Output::set adds the rounding to bf16.
void expect(Case& c) {
  const auto tokens = static_cast<size_t>(c["tokens"]), hidden = static_cast<size_t>(c["hidden"]);
  const auto count = static_cast<double>(hidden) * c.world();
  std::vector<double> squares(tokens);
  for (int r = 0; r < c.world(); ++r) {
    const auto x = c.input<bf16>("x", r);
    for (size_t t = 0; t < tokens; ++t) {
      double sum = 0;
      for (const bf16 value : x.subspan(t * hidden, hidden)) {
        const double v = value;
        sum += v * v;
      }
      squares[t] += sum;
    }
  }
  for (int r = 0; r < c.world(); ++r) {
    const auto x = c.input<bf16>("x", r), weight = c.input<bf16>("weight", r);
    Output y = c.output("y", r);
    for (size_t t = 0; t < tokens; ++t) {
      const double mean = squares[t] / count, error = (count + 2) * kFloat * mean;
      const double scale = 1 / std::sqrt(mean + kEpsilon);
      const double most = 1 / std::sqrt(mean - error + kEpsilon) * (1 + 8 * kFloat);
      const bf16* row = &x[t * hidden];
      for (size_t j = 0; j < hidden; ++j) {
        const double product = static_cast<double>(row[j]) * static_cast<double>(weight[j]);
        y.set(static_cast<int64_t>(t * hidden + j), product * scale, std::fabs(product) * (most - scale));
      }
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
