#include <fabricbench/oracle.h>
#include <fabricbench/products.h>

#include <algorithm>
#include <vector>

using namespace fabricbench::oracle;

// The bound is that of a sum in f32, in any order. Of large products 32 rows of each rank are drawn.
void expect(Case& c) {
  const int64_t m = c["m"], n = c["n"], k = c["k"], world = c.world();
  const int64_t count = m * n * k < int64_t{1} << 22 ? m : std::min<int64_t>(m, 32);
  std::vector<int64_t> rows;  // of the result, `count` of each rank's
  std::vector<const bf16*> left;
  for (int s = 0; s < world; ++s) {
    const bf16* a = c.input<bf16>("a", s).data();
    for (const int64_t row : draw(c.random, m, count)) {
      rows.push_back(s * m + row);
      left.push_back(a + row * k);
    }
  }
  for (int r = 0; r < world; ++r) {
    const bf16* b = c.input<bf16>("b", r).data();
    Product product(world * count, n);
    product.add(
        k, [&](int64_t i, int64_t d) { return left[i][d]; }, [&](int64_t d, int64_t j) { return b[j * k + d]; });
    Output out = c.output("c", r);
    for (int64_t i = 0; count < m && i < world * m * n; ++i) out.ignore(i);
    for (int64_t i = 0; i < world * count; ++i) {
      for (int64_t j = 0; j < n; ++j) out.set(rows[i] * n + j, product.value(i, j), product.bound(i, j));
    }
  }
}

FABRICBENCH_ORACLE(expect)
