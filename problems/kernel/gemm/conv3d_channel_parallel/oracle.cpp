#include <fabricbench/oracle.h>
#include <fabricbench/products.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

using namespace fabricbench::oracle;

// A convolution is a product: row o of the weights times the column of what the filter sees at a position. Sums in
// float have the bound of Product; the bias is one addition more, and `out` is rounded once.
void expect(Case& c) {
  const int64_t channels = c["channels"], filters = c["filters"];
  const int64_t frames = c["frames"], height = c["height"], width = c["width"];
  const int64_t positions = frames * height * width, depth = 27 * channels;
  // Large products take too long as a whole: 32 filters are drawn.
  std::vector<int64_t> rows(static_cast<size_t>(filters));
  std::iota(rows.begin(), rows.end(), 0);
  if (filters > 32 && filters * positions * depth > int64_t{1} << 24) rows = draw(c.random, filters, 32);

  std::vector<int64_t> taps, places;  // where a term is behind the first of its position, and where that is
  for (int64_t k = 0; k < depth; ++k) {
    const int64_t plane = k / 27 * (frames + 2) + k % 27 / 9;
    taps.push_back((plane * (height + 2) + k % 9 / 3) * (width + 2) + k % 3);
  }
  for (int64_t n = 0; n < positions; ++n)
    places.push_back((n / (height * width) * (height + 2) + n / width % height) * (width + 2) + n % width);

  Product sums(static_cast<int64_t>(rows.size()), positions);
  for (int r = 0; r < c.world(); ++r) {
    const bf16 *x = c.input<bf16>("x", r).data(), *w = c.input<bf16>("w", r).data();
    sums.add(
        depth, [&](int64_t i, int64_t k) { return w[rows[i] * depth + k]; },
        [&](int64_t k, int64_t n) { return x[taps[k] + places[n]]; });
  }
  const auto bias = c.input<bf16>("bias", 0);
  Output out = c.output("out");
  if (rows.size() < static_cast<size_t>(filters)) {
    for (int64_t i = 0; i < filters * positions; ++i) out.ignore(i);
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    const double added = bias[rows[i]];
    for (int64_t n = 0; n < positions; ++n) {
      const auto row = static_cast<int64_t>(i);
      const double value = sums.value(row, n) + added, bound = sums.bound(row, n);
      out.set(rows[i] * positions + n, value, bound + (std::fabs(value) + bound) * unit_roundoff(DType::f32));
    }
  }
}

FABRICBENCH_ORACLE(expect)
