#include <fabricbench/oracle.h>
#include <fabricbench/products.h>

#include <algorithm>
#include <vector>

using namespace fabricbench::oracle;

// The bound is that of one sum in f32 over the depth of all ranks, in any order. The output is rounded once. Of large
// products 32 rows of each rank are drawn.
void expect(Case& c) {
  const int64_t m = c["m"], n = c["n"], k = c["k"], world = c.world();
  const int64_t count = m * n * k < int64_t{1} << 22 ? m : std::min<int64_t>(m, 32);
  std::vector<int64_t> rows;  // of all ranks, `count` of each
  for (int64_t r = 0; r < world; ++r) {
    for (const int64_t row : draw(c.random, m, count)) rows.push_back(r * m + row);
  }
  Product product(world * count, n);
  for (int q = 0; q < world; ++q) {
    const bf16 *a = c.input<bf16>("a", q).data(), *b = c.input<bf16>("b", q).data();
    product.add(
        k, [&](int64_t i, int64_t d) { return a[rows[i] * k + d]; },
        [&](int64_t d, int64_t j) { return b[j * k + d]; });
  }
  for (int r = 0; r < world; ++r) {
    Output out = c.output("out", r);
    for (int64_t i = 0; count < m && i < m * n; ++i) out.ignore(i);
    for (int64_t i = r * count; i < (r + 1) * count; ++i) {
      const int64_t first = (rows[i] - r * m) * n;
      for (int64_t j = 0; j < n; ++j) out.set(first + j, product.value(i, j), product.bound(i, j));
    }
  }
}

FABRICBENCH_ORACLE(expect)
