#include <fabricbench/oracle.h>

#include <cmath>
#include <cstdint>
#include <vector>

using namespace fabricbench::oracle;

// In more bits than the candidate has: its roundings are what the bounds are made of.
using Wide = long double;
constexpr double kUnit = unit_roundoff(DType::f64);

// Covariances have diagonals of 1 to 2, which outweigh the rest of their rows: they are positive definite. The error is
// such that weights change by some per cent or more.
void fill(Case& c) {
  const int64_t blocks = c["blocks"], n = c["n"];
  for (int r = 0; r < c.world(); ++r) {
    const auto p = c.input<double>("p", r);
    for (int64_t b = 0; b < blocks; ++b) {
      double* block = &p[static_cast<size_t>(b * n * n)];
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < i; ++j)
          block[i * n + j] = block[j * n + i] = c.random.between(-1, 1) / static_cast<double>(n);
        block[i * n + i] = c.random.between(1, 2);
      }
    }
  }
  const double sign = c.random.below(2) == 0 ? 1 : -1;
  c.input<double>("error", 0)[0] = sign * c.random.between(0.1, 0.5) * static_cast<double>(c.world() * blocks * n) / 3;
  c.input<double>("lambda", 0)[0] = c.random.between(0.95, 0.999);
}

// Sums of up to n products, in f64 and any order, may be off by n + 1 units of the sum of their magnitudes. The sum
// over all blocks has as many terms as there are weights and blocks; its terms h K are off themselves. A quotient is
// right to a unit, a product with a rounded reciprocal to 3.
void expect(Case& c) {
  const int64_t blocks = c["blocks"], n = c["n"], all = blocks * n;
  const Wide lambda = c.input<double>("lambda", 0)[0], error = c.input<double>("error", 0)[0];
  std::vector<std::vector<Wide>> gain(static_cast<size_t>(c.world())), off(gain.size());
  Wide sum = 0, size = 0, sum_off = 0;
  for (size_t r = 0; r < gain.size(); ++r) {
    const auto h = c.input<double>("h", static_cast<int>(r)), p = c.input<double>("p", static_cast<int>(r));
    for (int64_t row = 0; row < all; ++row) {
      const double *a = &p[static_cast<size_t>(row * n)], *b = &h[static_cast<size_t>(row / n * n)];
      Wide k = 0, magnitude = 0;
      for (int64_t j = 0; j < n; ++j) {
        const Wide term = Wide{a[j]} * b[j];
        k += term;
        magnitude += std::fabs(term);
      }
      gain[r].push_back(k);
      off[r].push_back((n + 1) * kUnit * magnitude);
      const Wide by = h[static_cast<size_t>(row)];
      sum += by * k;
      size += std::fabs(by * k);
      sum_off += std::fabs(by) * off[r].back();
    }
    sum += blocks * lambda;
    size += blocks * lambda;
  }
  sum_off += (c.world() * (all + blocks) + 1) * kUnit * (size + sum_off);
  const Wide relative = sum_off / (sum - sum_off) + 3 * kUnit;  // of 1 / sum

  Output weights = c.output("weights");
  for (size_t r = 0; r < gain.size(); ++r) {
    const auto w = c.input<double>("w", static_cast<int>(r)), p = c.input<double>("p", static_cast<int>(r));
    Output p_out = c.output("p_out", static_cast<int>(r));
    for (int64_t row = 0; row < all; ++row) {
      const auto at = static_cast<size_t>(row);
      const Wide k = gain[r][at], dk = off[r][at], step = error * k / sum;
      const Wide step_off = std::fabs(error) * dk / sum * (1 + relative) + std::fabs(step) * (relative + 4 * kUnit);
      // The expected number is rounded to f64, too.
      weights.set(static_cast<int64_t>(r) * all + row, static_cast<double>(w[at] + step),
                  static_cast<double>(step_off + kUnit * std::fabs(w[at] + step)));
      for (int64_t j = 0; j < n; ++j) {
        const auto other = static_cast<size_t>(row / n * n + j);
        const Wide l = gain[r][other], dl = off[r][other], change = k * l / sum;
        const Wide change_off = (std::fabs(k) * dl + dk * (std::fabs(l) + dl)) / sum * (1 + relative) +
                                std::fabs(change) * (relative + 4 * kUnit);
        const Wide before = p[static_cast<size_t>(row * n + j)], after = (before - change) / lambda;
        // The difference is rounded, and the quotient, and the expected number.
        p_out.set(row * n + j, static_cast<double>(after),
                  static_cast<double>((change_off + 2 * kUnit * (std::fabs(before) + std::fabs(change))) / lambda +
                                      3 * kUnit * std::fabs(after)));
      }
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
