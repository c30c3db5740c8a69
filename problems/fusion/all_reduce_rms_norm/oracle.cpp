#include <fabricbench/oracle.h>

#include <cmath>
#include <vector>

using namespace fabricbench::oracle;

constexpr double kEpsilon = 1e-5;
constexpr double kFloat = unit_roundoff(DType::f32);

// About half of the rows are so small that epsilon counts: their mean square is about as large. The residual and the
// weights are the same on all ranks: those of rank 0.
void fill(Case& c) {
  const auto hidden = static_cast<size_t>(c["hidden"]);
  for (int64_t t = 0; t < c["tokens"]; ++t) {
    if (c.random.below(2) == 0) continue;
    const auto shrink = [&](const char* name, int rank) {
      for (bf16& value : c.input<bf16>(name, rank).subspan(static_cast<size_t>(t) * hidden, hidden))
        value = bf16(static_cast<float>(value) * 0x1p-12F);
    };
    for (int r = 0; r < c.world(); ++r) shrink("x", r);
    shrink("residual", 0);
  }
  for (int r = 1; r < c.world(); ++r) {
    for (const char* name : {"residual", "weight"}) {
      const auto from = c.input<bf16>(name, 0), to = c.input<bf16>(name, r);
      for (size_t i = 0; i < to.size(); ++i) to[i] = from[i];
    }
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
  std::vector<std::span<bf16>> x;
  for (int r = 0; r < c.world(); ++r) x.push_back(c.input<bf16>("x", r));
  const auto residual = c.input<bf16>("residual", 0), weight = c.input<bf16>("weight", 0);

  std::vector<double> row(hidden), doubt(hidden);
  for (size_t t = 0; t < tokens; ++t) {
    double squares = 0, squares_doubt = 0;
    for (size_t i = 0; i < hidden; ++i) {
      const size_t at = t * hidden + i;
      Sum sum;
      for (const auto& of_rank : x) sum.add(of_rank[at]);
      sum.add(residual[at]);
      const auto round = [](double value) -> double { return bf16(static_cast<float>(value)); };
      row[i] = round(sum.value());
      doubt[i] = round(sum.value() + sum.bound()) - round(sum.value() - sum.bound());
      if (doubt[i] == 0) {
        residual_out.set(static_cast<int64_t>(at), row[i]);
      } else {
        residual_out.set(static_cast<int64_t>(at), sum);
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
