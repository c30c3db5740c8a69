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

// world * k products of bf16 are exact in float, and as many terms are added. Tensor cores align the terms to the
// largest of them and cut off instead of rounding, which doubles the error of an addition. The output is rounded once.
void expect(Case& c) {
  const int64_t m = c["m"], n = c["n"], k = c["k"], world = c.world();
  const double bound = 2 * static_cast<double>(world * k) * unit_roundoff(DType::f32);
  // Large products take too long as a whole: of each rank's rows, 32 are drawn.
  const int64_t drawn = m * n * k < int64_t{1} << 22 ? m : std::min<int64_t>(m, 32);
  std::vector<int64_t> rows;  // of all ranks
  std::vector<bool> taken(world * m);
  for (int64_t r = 0; r < world; ++r) {
    for (int64_t i = 0; i < drawn; ++i) {
      int64_t row = c.random.below(m);
      while (taken[r * m + row]) row = (row + 1) % m;
      taken[r * m + row] = true;
      rows.push_back(r * m + row);
    }
  }
  std::vector<double> sums(rows.size() * n), magnitudes(rows.size() * n);
  std::vector<float> left(k), right(n * k);
  for (int q = 0; q < world; ++q) {
    const bf16 *a = c.input<bf16>("a", q).data(), *b = c.input<bf16>("b", q).data();
    for (int64_t i = 0; i < n * k; ++i) right[i] = b[i];
    for (size_t i = 0; i < rows.size(); ++i) {
      for (int64_t d = 0; d < k; ++d) left[d] = a[rows[i] * k + d];
      for (int64_t j = 0; j < n; ++j) {
        const auto [sum, magnitude] = product(left.data(), &right[j * k], k);
        sums[i * n + j] += sum;
        magnitudes[i * n + j] += magnitude;
      }
    }
  }
  for (int r = 0; r < world; ++r) {
    Output out = c.output("out", r);
    for (int64_t i = 0; drawn < m && i < m * n; ++i) out.ignore(i);
    for (int64_t i = r * drawn; i < (r + 1) * drawn; ++i) {
      const int64_t first = (rows[i] - r * m) * n;
      for (int64_t j = 0; j < n; ++j) out.set(first + j, sums[i * n + j], bound * magnitudes[i * n + j]);
    }
  }
}

FABRICBENCH_ORACLE(expect)
