#include <fabricbench/oracle.h>
#include <fabricbench/products.h>

#include <algorithm>
#include <vector>

using namespace fabricbench::oracle;

// The bound is that of one sum in f32 over the whole depth, in any order. Of large products 16 rows are drawn. X is the
// same for all ranks, so that their rows are one product.
void expect(Case& c) {
  const int64_t tokens = c["tokens"], hidden = c["hidden"], columns = c["columns"], world = c.world();
  const int64_t depth = world * tokens;
  const int64_t count = depth * hidden * columns < int64_t{1} << 22 ? columns : std::min<int64_t>(columns, 16);
  const std::vector<int64_t> rows = draw(c.random, columns, count);
  std::vector<const bf16*> x, grad;
  for (int r = 0; r < world; ++r) {
    x.push_back(c.input<bf16>("x", r).data());
    grad.push_back(c.input<bf16>("grad", r).data());
  }
  Product product(world * count, hidden);
  for (int64_t s = 0; s < world; ++s) {
    const bf16* shard = x[s];
    product.add(
        tokens, [&](int64_t i, int64_t t) { return grad[i / count][(s * tokens + t) * columns + rows[i % count]]; },
        [&](int64_t t, int64_t i) { return shard[t * hidden + i]; });
  }
  for (int r = 0; r < world; ++r) {
    Output out = c.output("weight_grad", r);
    auto drawn = rows.begin();
    for (int64_t j = 0; j < columns; ++j) {
      const bool looked_at = drawn != rows.end() && *drawn == j;
      const int64_t row = r * count + (drawn - rows.begin());
      for (int64_t i = 0; i < hidden; ++i) {
        if (looked_at) {
          out.set(j * hidden + i, product.value(row, i), product.bound(row, i));
        } else {
          out.ignore(j * hidden + i);
        }
      }
      if (looked_at) ++drawn;
    }
  }
}

FABRICBENCH_ORACLE(expect)
