#include <fabricbench/oracle.h>
#include <fabricbench/products.h>

#include <algorithm>
#include <vector>

using namespace fabricbench::oracle;

// The bound is that of one sum in f32 over the whole depth, in any order. Of large products 32 rows are drawn, the same
// ones for all ranks.
void expect(Case& c) {
  const int64_t m = c["m"], n = c["n"], k = c["k"], world = c.world(), depth = world * k;
  const int64_t count = m * n * depth < int64_t{1} << 22 ? m : std::min<int64_t>(m, 32);
  const std::vector<int64_t> rows = draw(c.random, m, count);
  std::vector<float> left(static_cast<size_t>(count * depth));
  for (int s = 0; s < world; ++s) {
    const auto a = c.input<bf16>("a", s);
    for (int64_t i = 0; i < count; ++i) {
      const auto row = a.subspan(static_cast<size_t>(rows[i] * k), static_cast<size_t>(k));
      std::copy(row.begin(), row.end(), &left[static_cast<size_t>(i * depth + s * k)]);
    }
  }
  for (int r = 0; r < world; ++r) {
    const bf16* b = c.input<bf16>("b", r).data();
    Product product(count, n);
    product.add(
        depth, [&](int64_t i, int64_t l) { return left[i * depth + l]; },
        [&](int64_t l, int64_t j) { return b[j * depth + l]; });
    Output out = c.output("c", r);
    auto drawn = rows.begin();
    for (int64_t row = 0; row < m; ++row) {
      const bool looked_at = drawn != rows.end() && *drawn == row;
      const int64_t i = drawn - rows.begin();
      for (int64_t j = 0; j < n; ++j) {
        if (looked_at) {
          out.set(row * n + j, product.value(i, j), product.bound(i, j));
        } else {
          out.ignore(row * n + j);
        }
      }
      if (looked_at) ++drawn;
    }
  }
}

FABRICBENCH_ORACLE(expect)
