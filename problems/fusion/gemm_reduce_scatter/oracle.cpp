#include <fabricbench/oracle.h>

#include <vector>

using namespace fabricbench::oracle;

// world * k products of bf16 are exact in float, and as many terms are added. Tensor cores align the terms to the
// largest of them and cut off instead of rounding, which doubles the error of an addition. The output is rounded once.
void expect(Case& c) {
  const int64_t m = c["m"], n = c["n"], k = c["k"];
  const double bound = 2 * static_cast<double>(c.world() * k) * unit_roundoff(DType::f32);
  std::vector<double> sum(c.world() * m * n), magnitude(c.world() * m * n), b(k * n);
  for (int r = 0; r < c.world(); ++r) {
    const std::span<bf16> a = c.input<bf16>("a", r), rows = c.input<bf16>("b", r);
    for (int64_t i = 0; i < k * n; ++i) b[i] = rows[i];
    for (int64_t row = 0; row < c.world() * m; ++row) {
      double* to = &sum[row * n];
      double* size = &magnitude[row * n];
      for (int64_t i = 0; i < k; ++i) {
        const double left = a[row * k + i];
        for (int64_t j = 0; j < n; ++j) {
          const double term = left * b[i * n + j];
          to[j] += term;
          size[j] += std::fabs(term);
        }
      }
    }
  }
  for (int64_t i = 0; i < c.world() * m * n; ++i) {
    c.output("out", static_cast<int>(i / (m * n))).set(i % (m * n), sum[i], bound * magnitude[i]);
  }
}

FABRICBENCH_ORACLE(expect)
