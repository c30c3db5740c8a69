#include <fabricbench/oracle.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "../mathematics.h"

using namespace fabricbench::oracle;

// Scores have a standard deviation of 2.8 by the fills: of hundreds of keys some ten count, and they are anywhere.
// The keys of each chunk, or of each rank, may be looked at by themselves; the parts are merged in float.
void expect(Case& c) {
  const int64_t chunks = c["chunks"], tokens = c["tokens"], share = c["share"], dim = 128, world = c.world();
  const int64_t rows = chunks * tokens, heads = world * share;
  const int merges = static_cast<int>(std::max(chunks, world));
  for (int64_t h = 0; h < world; ++h) {
    for (int r = 0; r < c.world(); ++r) {
      // Row i is token i / share of this rank, in the order of chunks, with head h * share + i % share.
      const auto at = [&](int64_t i) { return (i / share * heads + h * share + i % share) * dim; };
      const bf16* q = c.input<bf16>("q", r).data();
      attention::Attention a(rows * share, dim, dim, 1 / std::sqrt(static_cast<double>(dim)),
                             [&](int64_t i, int64_t d) { return q[at(i) + d]; });
      for (int s = 0; s < c.world(); ++s) {
        const bf16 *k = c.input<bf16>("k", s).data(), *v = c.input<bf16>("v", s).data();
        a.add(
            rows, [&](int64_t j, int64_t d) { return k[(j * world + h) * dim + d]; },
            [&](int64_t j, int64_t d) { return v[(j * world + h) * dim + d]; },
            [&](int64_t i, int64_t j) { return j / tokens <= i / share / tokens; });
      }
      Output out = c.output("out", r);
      for (int64_t i = 0; i < a.queries(); ++i) {
        for (int64_t d = 0; d < dim; ++d) out.set(at(i) + d, a.value(i, d), a.bound(i, d, merges));
      }
    }
  }
}

FABRICBENCH_ORACLE(expect)
