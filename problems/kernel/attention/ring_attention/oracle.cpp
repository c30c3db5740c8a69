#include <fabricbench/oracle.h>

#include <cmath>
#include <cstdint>

#include "../mathematics.h"

using namespace fabricbench::oracle;

// Queries are scaled by 4, so that scores have a standard deviation of 4/3: some keys count much more than others, and
// a maximum that is forgotten is seen.
void fill(Case& c) {
  for (int r = 0; r < c.world(); ++r) {
    for (bf16& value : c.input<bf16>("q", r)) value = bf16(4 * static_cast<float>(value));
  }
}

// Partial results of all ranks' keys may be merged by their log-sums, and each rounded to bf16 before: that is 2^-8 of
// its magnitude, and all of them together 2^-8 of the magnitude of the whole.
void expect(Case& c) {
  const int64_t tokens = c["tokens"], kv_heads = c["kv_heads"], share = c["share"], dim = 128;
  const int64_t heads = kv_heads * share, world = c.world();
  const auto position = [&](int64_t rank, int64_t t) {
    return (t < tokens ? rank : 2 * world - 1 - rank) * tokens + t % tokens;
  };
  for (int r = 0; r < c.world(); ++r) {
    const bf16* q = c.input<bf16>("q", r).data();
    Output out = c.output("out", r);
    for (int64_t h = 0; h < kv_heads; ++h) {
      // Row i is the query of token i / share and head h * share + i % share.
      const auto row = [&](int64_t i) { return (i / share * heads + h * share + i % share) * dim; };
      attention::Attention a(2 * tokens * share, dim, dim, 1 / std::sqrt(static_cast<double>(dim)),
                             [&](int64_t i, int64_t d) { return q[row(i) + d]; });
      for (int s = 0; s < c.world(); ++s) {
        const bf16 *k = c.input<bf16>("k", s).data(), *v = c.input<bf16>("v", s).data();
        a.add(
            2 * tokens, [&](int64_t j, int64_t d) { return k[(j * kv_heads + h) * dim + d]; },
            [&](int64_t j, int64_t d) { return v[(j * kv_heads + h) * dim + d]; },
            [&](int64_t i, int64_t j) { return position(s, j) <= position(r, i / share); });
      }
      for (int64_t i = 0; i < a.queries(); ++i) {
        for (int64_t d = 0; d < dim; ++d) {
          const double partial = unit_roundoff(DType::bf16) * a.magnitude(i, d);
          out.set(row(i) + d, a.value(i, d), a.bound(i, d, c.world()) + partial);
        }
      }
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
