#include <fabricbench/oracle.h>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace fabricbench::oracle;

constexpr double kEpsilon = 1e-5;
constexpr double kFloat = unit_roundoff(DType::f32);

// About half of the rows are so small that epsilon counts: their mean square is about as large. The residual and the
// weights are the same on all ranks: those of rank 0.
void fill(Case& c) {
  const auto tokens = static_cast<size_t>(c["tokens"]), hidden = static_cast<size_t>(c["hidden"]);
  std::vector<std::span<bf16>> shrunk;
  for (int r = 0; r < c.world(); ++r) shrunk.push_back(c.input<bf16>("x", r));
  shrunk.push_back(c.input<bf16>("residual", 0));
  for (size_t t = 0; t < tokens; ++t) {
    if (c.random.below(2) == 0) continue;
    for (const std::span<bf16> tensor : shrunk) {
      for (bf16& value : tensor.subspan(t * hidden, hidden)) value = bf16(static_cast<float>(value) * 0x1p-12F);
    }
  }
  for (int r = 1; r < c.world(); ++r) {
    std::ranges::copy(c.input<bf16>("residual", 0), c.input<bf16>("residual", r).begin());
    std::ranges::copy(c.input<bf16>("weight", 0), c.input<bf16>("weight", r).begin());
  }
}

// residual_out: a float sum lies within Sum::bound of the exact one, `sum`. Rounding is monotone, so where both ends of
// that interval round to the same bf16, every correct candidate has exactly this number. Where they do not, the sum is
// next to the middle between two bf16, and either may come out: `doubt` is their distance, and 0 elsewhere.
//
// y: the norm takes the rounded numbers, so only doubt and float arithmetic make it uncertain.
//   mean:  of the squares; doubt d in a number r changes its square by at most 2 |r| d + d². In float, each square is
//          rounded once, takes part in at most `hidden` additions, and the division rounds once more: hidden + 2
//          roundings, all terms positive.
//   scale: 1 / sqrt(mean + epsilon) falls as mean grows, so it lies between its values at the ends; the lower end is
//          the farther one, the function being convex.
//   y:     |r| and scale at their largest, times 8 roundings: the sum with epsilon, 2 units in the last place (4
//          roundings) of rsqrtf, and two products make 7. Then it is rounded to bf16, which Output::set adds.
void expect(Case& c) {
  const auto tokens = static_cast<size_t>(c["tokens"]), hidden = static_cast<size_t>(c["hidden"]);
  Output y = c.output("y"), residual_out = c.output("residual_out");
  std::vector<std::span<bf16>> terms;
  for (int r = 0; r < c.world(); ++r) terms.push_back(c.input<bf16>("x", r));
  terms.push_back(c.input<bf16>("residual", 0));
  const auto weight = c.input<bf16>("weight", 0);
  const auto round = [](double value) -> double { return bf16(static_cast<float>(value)); };

  std::vector<Sum> sums(hidden);
  std::vector<double> row(hidden), doubt(hidden);
  for (size_t t = 0; t < tokens; ++t) {
    std::ranges::fill(sums, Sum());
    for (const std::span<bf16> tensor : terms) {
      const bf16* of_row = &tensor[t * hidden];
      for (size_t i = 0; i < hidden; ++i) sums[i].add(of_row[i]);
    }
    double squares = 0, squares_doubt = 0;
    for (size_t i = 0; i < hidden; ++i) {
      const double sum = sums[i].value(), bound = sums[i].bound();
      row[i] = round(sum);
      doubt[i] = round(sum + bound) - round(sum - bound);
      if (doubt[i] == 0) {
        residual_out.set(static_cast<int64_t>(t * hidden + i), row[i]);
      } else {
        residual_out.set(static_cast<int64_t>(t * hidden + i), sums[i]);
      }
      squares += row[i] * row[i];
      squares_doubt += 2 * std::fabs(row[i]) * doubt[i] + doubt[i] * doubt[i];
    }
    const auto count = static_cast<double>(hidden);
    const double mean = squares / count;
    const double mean_error = squares_doubt / count + (count + 2) * kFloat * (squares + squares_doubt) / count;
    const double scale = 1 / std::sqrt(mean + kEpsilon);
    const double most_scale = 1 / std::sqrt(std::fmax(mean - mean_error, 0) + kEpsilon);
    for (size_t i = 0; i < hidden; ++i) {
      const double factor = std::fabs(static_cast<double>(weight[i]));
      const double most = (std::fabs(row[i]) + doubt[i]) * most_scale * (1 + 8 * kFloat);
      y.set(static_cast<int64_t>(t * hidden + i), row[i] * scale * static_cast<double>(weight[i]),
            factor * (most - std::fabs(row[i]) * scale));
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
