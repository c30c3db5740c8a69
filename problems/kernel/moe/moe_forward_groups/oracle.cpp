#include <fabricbench/oracle.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "../mathematics.h"

using namespace fabricbench::oracle;

// Ranks at the same place of their groups have the same weights.
void fill(Case& c) {
  const int64_t hidden = c["hidden"], k = c["k"], ep = c["ep"], experts = ep * c["local"];
  moe::scale_down(c.input<bf16>("router", 0), hidden);
  const int64_t hot = c.random.below(experts);
  for (int r = 0; r < c.world(); ++r) {
    for (const char* name : {"w_gate", "w_up", "w_down"}) {
      const auto own = c.input<bf16>(name, r);
      if (r >= ep) {
        const auto first = c.input<bf16>(name, r % static_cast<int>(ep));
        std::copy(first.begin(), first.end(), own.begin());
      } else if (name != std::string_view("w_down")) {
        moe::scale_down(own, hidden);
      }
    }
    moe::decide(c.random, c.input<bf16>("x", r), c.input<bf16>("router", 0).data(), hidden, experts, k, hot);
  }
}

// Errors are followed through the router, both products and the weighted sum (mathematics.h).
void expect(Case& c) {
  const int64_t tokens = c["tokens"], hidden = c["hidden"], ffn = c["ffn"], k = c["k"], local = c["local"];
  const int64_t experts = c["ep"] * local;
  const bf16* router = c.input<bf16>("router", 0).data();
  std::vector<moe::Routing> routings;
  std::vector<moe::Mixture> mixtures(static_cast<size_t>(c.world()), moe::Mixture(tokens, hidden, k));
  std::vector<const bf16*> x;
  for (int r = 0; r < c.world(); ++r) {
    x.push_back(c.input<bf16>("x", r).data());
    routings.push_back(moe::route(x[r], router, tokens, hidden, experts, k, true));
  }

  Output load = c.output("load");
  struct Choice {
    int64_t rank, number;
  };
  for (int64_t e = 0; e < experts; ++e) {
    std::vector<Choice> choices;
    for (int64_t r = 0; r < c.world(); ++r) {
      for (int64_t i = 0; i < tokens * k; ++i) {
        if (routings[r].experts[i] == e) choices.push_back({r, i});
      }
    }
    const auto rows = static_cast<int64_t>(choices.size());
    load.set(e, static_cast<double>(rows));
    if (rows == 0) continue;
    const auto owner = static_cast<int>(e / local);
    const int64_t first = e % local * ffn * hidden;
    const bf16 *w_gate = c.input<bf16>("w_gate", owner).data() + first,
               *w_up = c.input<bf16>("w_up", owner).data() + first;
    const auto left = [&](int64_t i, int64_t l) { return x[choices[i].rank][choices[i].number / k * hidden + l]; };
    moe::Product u(rows, ffn), v(rows, ffn);
    u.add(hidden, left, [&](int64_t l, int64_t n) { return w_gate[n * hidden + l]; });
    v.add(hidden, left, [&](int64_t l, int64_t n) { return w_up[n * hidden + l]; });
    const moe::Rows y = moe::down(moe::gate(u, v), c.input<bf16>("w_down", owner).data() + first, rows, hidden, ffn);
    for (int64_t i = 0; i < rows; ++i)
      mixtures[choices[i].rank].add(routings[choices[i].rank], choices[i].number, y, i);
  }
  for (int r = 0; r < c.world(); ++r) mixtures[r].set(c.output("out", r));
}

FABRICBENCH_ORACLE(expect, fill)
