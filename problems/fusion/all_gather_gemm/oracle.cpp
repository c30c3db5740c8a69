#include <fabricbench/oracle.h>

#include <vector>

using namespace fabricbench::oracle;

// k products of bf16 are exact in float; k terms are added. Tensor cores align the terms to the largest of them and cut
// off instead of rounding, which doubles the error of an addition.
void expect(Case& c) {
  const int64_t m = c["m"], n = c["n"], k = c["k"];
  const double bound = 2 * static_cast<double>(k) * unit_roundoff(DType::f32);
  std::vector<double> b(k * n), sum(n), magnitude(n);
  for (int r = 0; r < c.world(); ++r) {
    Output out = c.output("c", r);
    const std::span<bf16> columns = c.input<bf16>("b", r);
    for (int64_t i = 0; i < k * n; ++i) b[i] = columns[i];
    for (int64_t row = 0; row < c.world() * m; ++row) {
      const bf16* a = &c.input<bf16>("a", static_cast<int>(row / m))[row % m * k];
      sum.assign(n, 0);
      magnitude.assign(n, 0);
      for (int64_t i = 0; i < k; ++i) {
        const double left = a[i];
        for (int64_t j = 0; j < n; ++j) {
          const double term = left * b[i * n + j];
          sum[j] += term;
          magnitude[j] += std::fabs(term);
        }
      }
      for (int64_t j = 0; j < n; ++j) out.set(row * n + j, sum[j], bound * magnitude[j]);
    }
  }
}

FABRICBENCH_ORACLE(expect)
