#include <fabricbench/oracle.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "../mathematics.h"

using namespace fabricbench::oracle;

// Scores have a standard deviation of 2.8 by the fills: of hundreds of keys some ten count, and they are anywhere.
// The keys of each rank may be looked at by themselves; the parts are merged in float.
void expect(Case& c) {
  const int64_t tokens = c["tokens"], dim = 64, world = c.world(), heads = world * c["heads"];
  // Of large attentions some queries of each head are looked at, by their number in the whole sequence.
  const int64_t queries = world * tokens, count = queries * queries * heads < 1 << 19 ? queries : 12;
  std::vector<const bf16*> q, k, v;
  std::vector<Output> out;
  for (int r = 0; r < c.world(); ++r) {
    q.push_back(c.input<bf16>("q", r).data());
    k.push_back(c.input<bf16>("k", r).data());
    v.push_back(c.input<bf16>("v", r).data());
    out.push_back(c.output("out", r));
    if (count < queries) {
      for (int64_t i = 0; i < out.back().size(); ++i) out.back().ignore(i);
    }
  }
  for (int64_t h = 0; h < heads; ++h) {
    const std::vector<int64_t> rows = attention::draw(c.random, queries, count);
    const auto owner = [&](int64_t i) { return static_cast<size_t>(rows[static_cast<size_t>(i)] / tokens); };
    const auto at = [&](int64_t i) { return (rows[static_cast<size_t>(i)] % tokens * heads + h) * dim; };
    attention::Attention a(count, dim, dim, 1 / std::sqrt(static_cast<double>(dim)),
                           [&](int64_t i, int64_t d) { return q[owner(i)][at(i) + d]; });
    for (size_t s = 0; s < k.size(); ++s) {
      a.add(
          tokens, [&](int64_t j, int64_t d) { return k[s][(j * heads + h) * dim + d]; },
          [&](int64_t j, int64_t d) { return v[s][(j * heads + h) * dim + d]; }, [](int64_t, int64_t) { return true; });
    }
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t d = 0; d < dim; ++d) out[owner(i)].set(at(i) + d, a.value(i, d), a.bound(i, d, c.world()));
    }
  }
}

FABRICBENCH_ORACLE(expect)
