#include <fabricbench/oracle.h>

#include <cmath>
#include <vector>

using namespace fabricbench::oracle;

constexpr double kEpsilon = 1e-5;
constexpr double kFloat = unit_roundoff(DType::f32);

// About half of the rows are so small that epsilon counts.
void fill(Case& c) {
  const auto rows = static_cast<size_t>(c["rows"]), hidden = static_cast<size_t>(c["hidden"]);
  const auto shrink = [&](std::span<bf16> tensor, size_t row) {
    for (bf16& value : tensor.subspan(row * hidden, hidden)) value = bf16(static_cast<float>(value) * 0x1p-12F);
  };
  for (int owner = 0; owner < c.world(); ++owner) {
    for (size_t t = 0; t < rows; ++t) {
      if (c.random.below(2) == 0) continue;
      for (int r = 0; r < c.world(); ++r) shrink(c.input<bf16>("x", r), static_cast<size_t>(owner) * rows + t);
      shrink(c.input<bf16>("residual", owner), t);
    }
  }
}

// h: any order of summing in float lies within Sum's bound, (world + 1) roundings of the sum of magnitudes; Output::set
// adds the rounding to bf16.
// y: takes the sums before that rounding. An error e in a sum s changes its square by at most 2 |s| e + e². Each square
// is rounded once in float, takes part in at most `hidden` additions, and the division rounds once more: hidden + 2
// roundings, all terms positive. 1 / sqrt falls as its argument grows and is convex, so that the lower end of the mean
// is the farther one. Then |s| and scale at their largest, times 8 roundings: the sum with epsilon, 2 units in the last
// place of rsqrtf (4 roundings), two products. Output::set adds the rounding to bf16.
void expect(Case& c) {
  const auto rows = static_cast<size_t>(c["rows"]), hidden = static_cast<size_t>(c["hidden"]);
  const auto count = static_cast<double>(hidden);
  std::vector<std::span<bf16>> x;
  for (int r = 0; r < c.world(); ++r) x.push_back(c.input<bf16>("x", r));
  const auto weight = c.input<bf16>("weight", 0);
  std::vector<double> sum(hidden), error(hidden);
  for (int owner = 0; owner < c.world(); ++owner) {
    const auto residual = c.input<bf16>("residual", owner);
    Output h = c.output("h", owner), y = c.output("y", owner);
    for (size_t t = 0; t < rows; ++t) {
      for (size_t j = 0; j < hidden; ++j) {
        sum[j] = residual[t * hidden + j];
        error[j] = std::fabs(sum[j]);
      }
      for (const std::span<bf16> of_rank : x) {
        const bf16* row = &of_rank[(static_cast<size_t>(owner) * rows + t) * hidden];
        for (size_t j = 0; j < hidden; ++j) {
          const double value = row[j];
          sum[j] += value;
          error[j] += std::fabs(value);
        }
      }
      double squares = 0, squares_error = 0;
      for (size_t j = 0; j < hidden; ++j) {
        error[j] *= (c.world() + 1) * kFloat;
        squares += sum[j] * sum[j];
        squares_error += (2 * std::fabs(sum[j]) + error[j]) * error[j];
      }
      const double mean = squares / count;
      const double mean_error = squares_error / count + (count + 2) * kFloat * (squares + squares_error) / count;
      const double scale = 1 / std::sqrt(mean + kEpsilon);
      const double most_scale = 1 / std::sqrt(std::fmax(mean - mean_error, 0) + kEpsilon) * (1 + 8 * kFloat);
      for (size_t j = 0; j < hidden; ++j) {
        const auto i = static_cast<int64_t>(t * hidden + j);
        const double factor = weight[j], size = std::fabs(sum[j]);
        h.set(i, sum[j], error[j]);
        y.set(i, sum[j] * scale * factor, std::fabs(factor) * ((size + error[j]) * most_scale - size * scale));
      }
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
