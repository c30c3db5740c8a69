#include <fabricbench/oracle.h>

#include <algorithm>
#include <utility>
#include <vector>

using namespace fabricbench::oracle;

// The sum of the products of two rows and of their magnitudes. Products of bf16 are exact in float.
static std::pair<double, double> product(const float* a, const float* b, int64_t length) {
  constexpr int kWidth = 8;  // sums side by side, for vector registers
  double sums[kWidth] = {}, magnitudes[kWidth] = {};
  for (int64_t i = 0; i + kWidth <= length; i += kWidth) {
    for (int w = 0; w < kWidth; ++w) {
      const double term = a[i + w] * b[i + w];
      sums[w] += term;
      magnitudes[w] += std::fabs(term);
    }
  }
  for (int64_t i = length / kWidth * kWidth; i < length; ++i) {
    const double term = a[i] * b[i];
    sums[0] += term;
    magnitudes[0] += std::fabs(term);
  }
  double sum = 0, magnitude = 0;
  for (int w = 0; w < kWidth; ++w) {
    sum += sums[w];
    magnitude += magnitudes[w];
  }
  return {sum, magnitude};
}

// k products of bf16 are exact in float; k terms are added. Tensor cores align the terms to the largest of them and cut
// off instead of rounding, which doubles the error of an addition.
void expect(Case& c) {
  const int64_t m = c["m"], n = c["n"], k = c["k"], world = c.world();
  const double bound = 2 * static_cast<double>(k) * unit_roundoff(DType::f32);
  // Large products take too long as a whole: of each rank's rows, 32 are drawn.
  const int64_t drawn = m * n * k < int64_t{1} << 22 ? m : std::min<int64_t>(m, 32);
  std::vector<float> left(k), right(n * k);
  std::vector<bool> taken(world * m);
  for (int64_t s = 0; s < world; ++s) {
    for (int64_t i = 0; i < drawn; ++i) {
      int64_t row = c.random.below(m);
      while (taken[s * m + row]) row = (row + 1) % m;
      taken[s * m + row] = true;
    }
  }
  for (int r = 0; r < world; ++r) {
    Output out = c.output("c", r);
    const bf16* b = c.input<bf16>("b", r).data();
    for (int64_t i = 0; i < n * k; ++i) right[i] = b[i];
    for (int64_t row = 0; row < world * m; ++row) {
      if (!taken[row]) {
        for (int64_t j = 0; j < n; ++j) out.ignore(row * n + j);
        continue;
      }
      const bf16* a = c.input<bf16>("a", static_cast<int>(row / m)).data() + row % m * k;
      for (int64_t i = 0; i < k; ++i) left[i] = a[i];
      for (int64_t j = 0; j < n; ++j) {
        const auto [sum, magnitude] = product(left.data(), &right[j * k], k);
        out.set(row * n + j, sum, bound * magnitude);
      }
    }
  }
}

FABRICBENCH_ORACLE(expect)
