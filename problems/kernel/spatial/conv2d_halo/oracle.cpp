#include <fabricbench/oracle.h>
#include <fabricbench/products.h>

#include <cstdint>
#include <numeric>
#include <vector>

using namespace fabricbench::oracle;

// A convolution is a product: a filter times what it sees at a pixel, 9 * channels numbers. Sums in float have the
// bound of Product for every order and grouping, and `y` is rounded once. What is sent to another rank and added there
// is part of the same sum.
void expect(Case& c) {
  const int64_t rows = c["rows"], width = c["width"], channels = c["channels"], filters = c["filters"];
  const int64_t positions = rows * width, depth = 9 * channels, padded = (width + 2) * channels;
  // Large products take too long as a whole: 24 filters are drawn.
  std::vector<int64_t> drawn(static_cast<size_t>(filters));
  std::iota(drawn.begin(), drawn.end(), 0);
  if (filters > 24 && filters * positions * depth > int64_t{1} << 24) drawn = draw(c.random, filters, 24);

  // The image with zeros around it.
  std::vector<float> image(static_cast<size_t>((c.world() * rows + 2) * padded));
  for (int r = 0; r < c.world(); ++r) {
    const bf16* x = c.input<bf16>("x", r).data();
    for (int64_t i = 0; i < rows; ++i) {
      float* to = &image[static_cast<size_t>((r * rows + i + 1) * padded + channels)];
      for (int64_t k = 0; k < width * channels; ++k) to[k] = x[i * width * channels + k];
    }
  }
  std::vector<int64_t> taps, places;  // where a term is behind the first of its pixel, and where that is
  for (int64_t k = 0; k < depth; ++k) taps.push_back(k / (3 * channels) * padded + k % (3 * channels));
  for (int64_t n = 0; n < positions; ++n) places.push_back(n / width * padded + n % width * channels);

  const bf16* w = c.input<bf16>("w", 0).data();
  const auto count = static_cast<int64_t>(drawn.size());
  for (int r = 0; r < c.world(); ++r) {
    const float* seen = &image[static_cast<size_t>(r * rows * padded)];
    Product sums(count, positions);
    sums.add(
        depth, [&](int64_t i, int64_t k) { return w[drawn[static_cast<size_t>(i)] * depth + k]; },
        [&](int64_t k, int64_t n) { return seen[taps[static_cast<size_t>(k)] + places[static_cast<size_t>(n)]]; });
    Output y = c.output("y", r);
    if (count < filters) {
      for (int64_t i = 0; i < y.size(); ++i) y.ignore(i);
    }
    for (int64_t n = 0; n < positions; ++n) {
      for (int64_t i = 0; i < count; ++i)
        y.set(n * filters + drawn[static_cast<size_t>(i)], sums.value(i, n), sums.bound(i, n));
    }
  }
}

FABRICBENCH_ORACLE(expect)
