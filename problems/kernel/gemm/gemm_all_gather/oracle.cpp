#include <fabricbench/oracle.h>
#include <fabricbench/products.h>

#include <algorithm>
#include <vector>

using namespace fabricbench::oracle;

// The bound is that of one sum in f32, in any order. Of large products 32 rows are drawn.
void expect(Case& c) {
  const int64_t m = c["m"], n = c["n"], k = c["k"], world = c.world(), columns = world * n;
  const int64_t count = m * n * k < int64_t{1} << 22 ? m : std::min<int64_t>(m, 32);
  const std::vector<int64_t> rows = draw(c.random, m, count);
  const bf16* a = c.input<bf16>("a", 0).data();
  Output out = c.output("c");
  std::vector<bool> looked_at(static_cast<size_t>(m));
  for (const int64_t row : rows) looked_at[static_cast<size_t>(row)] = true;
  for (int64_t row = 0; row < m; ++row) {
    if (looked_at[static_cast<size_t>(row)]) continue;
    for (int64_t j = 0; j < columns; ++j) out.ignore(row * columns + j);
  }
  for (int s = 0; s < world; ++s) {
    const bf16* b = c.input<bf16>("b", s).data();
    Product product(count, n);
    product.add(
        k, [&](int64_t i, int64_t l) { return a[rows[i] * k + l]; },
        [&](int64_t l, int64_t j) { return b[j * k + l]; });
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t j = 0; j < n; ++j) out.set(rows[i] * columns + s * n + j, product.value(i, j), product.bound(i, j));
    }
  }
}

FABRICBENCH_ORACLE(expect)
