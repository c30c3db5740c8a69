#include <fabricbench/oracle.h>

#include <cstdint>
#include <vector>

#include "../mathematics.h"

using namespace fabricbench::oracle;

constexpr int64_t kChosen = 2;

void fill(Case& c) {
  const int64_t hidden = c["hidden"], experts = c.world();
  moe::scale_down(c.input<bf16>("router", 0), hidden);
  const int64_t hot = c.random.below(experts);
  for (int r = 0; r < c.world(); ++r) {
    moe::scale_down(c.input<bf16>("w_gate", r), hidden);
    moe::scale_down(c.input<bf16>("w_up", r), hidden);
    moe::decide(c.random, c.input<bf16>("x", r), c.input<bf16>("router", 0).data(), hidden, experts, kChosen, hot);
  }
}

// Errors are followed through the router, both products and the weighted sum (mathematics.h).
void expect(Case& c) {
  const int64_t tokens = c["tokens"], hidden = c["hidden"], ffn = c["ffn"], experts = c.world();
  const bf16* router = c.input<bf16>("router", 0).data();
  std::vector<moe::Routing> routings;
  std::vector<moe::Mixture> mixtures(static_cast<size_t>(c.world()), moe::Mixture(tokens, hidden, kChosen));
  std::vector<const bf16*> x;
  for (int r = 0; r < c.world(); ++r) {
    x.push_back(c.input<bf16>("x", r).data());
    routings.push_back(moe::route(x[r], router, tokens, hidden, experts, kChosen));
  }

  struct Choice {
    int64_t rank, number;
  };
  for (int e = 0; e < experts; ++e) {
    std::vector<Choice> choices;
    for (int64_t r = 0; r < c.world(); ++r) {
      for (int64_t i = 0; i < tokens * kChosen; ++i) {
        if (routings[r].experts[i] == e) choices.push_back({r, i});
      }
    }
    const auto rows = static_cast<int64_t>(choices.size());
    if (rows == 0) continue;
    const bf16 *w_gate = c.input<bf16>("w_gate", e).data(), *w_up = c.input<bf16>("w_up", e).data();
    const auto left = [&](int64_t i, int64_t l) {
      return x[choices[i].rank][choices[i].number / kChosen * hidden + l];
    };
    moe::Product u(rows, ffn), v(rows, ffn);
    u.add(hidden, left, [&](int64_t l, int64_t n) { return w_gate[n * hidden + l]; });
    v.add(hidden, left, [&](int64_t l, int64_t n) { return w_up[n * hidden + l]; });
    const moe::Rows y = moe::down(moe::gate(u, v), c.input<bf16>("w_down", e).data(), rows, hidden, ffn);
    for (int64_t i = 0; i < rows; ++i)
      mixtures[choices[i].rank].add(routings[choices[i].rank], choices[i].number, y, i);
  }
  for (int r = 0; r < c.world(); ++r) mixtures[r].set(c.output("out", r));
}

FABRICBENCH_ORACLE(expect, fill)
