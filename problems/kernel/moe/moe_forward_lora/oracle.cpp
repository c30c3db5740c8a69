#include <fabricbench/oracle.h>

#include <cmath>
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
    // Adapters are about as large as half of what they are added to.
    for (const char* name : {"a_gate", "a_up"}) moe::scale_down(c.input<bf16>(name, r), hidden);
    for (const char* name : {"b_gate", "b_up"}) moe::scale_down(c.input<bf16>(name, r), c["lora"]);
    moe::scale_down(c.input<bf16>("a_down", r), c["ffn"]);
    for (bf16& value : c.input<bf16>("b_down", r)) value = bf16(static_cast<float>(value) * 4);
    moe::decide(c.random, c.input<bf16>("x", r), c.input<bf16>("router", 0).data(), hidden, experts, kChosen, hot);
  }
}

// Adds half of a second factor, [columns][lora], times what the first one made of the rows. Its errors are in `off`.
static void adapt(moe::Product& sum, moe::Product& off, const moe::Rows& first, const bf16* second, int64_t lora) {
  const auto right = [&](int64_t m, int64_t n) { return static_cast<double>(second[n * lora + m]) / 2; };
  sum.add(lora, [&](int64_t i, int64_t m) { return first.values[i * lora + m]; }, right);
  off.add(lora, [&](int64_t i, int64_t m) { return first.errors[i * lora + m]; }, right);
}

// Errors are followed through the router, all products and the weighted sum (mathematics.h).
void expect(Case& c) {
  const int64_t tokens = c["tokens"], hidden = c["hidden"], ffn = c["ffn"], lora = c["lora"];
  const int64_t experts = c.world();
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
    moe::Rows tokens_of_expert;  // exact
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t l = 0; l < hidden; ++l) tokens_of_expert.values.push_back(left(i, l));
    }
    tokens_of_expert.errors.resize(tokens_of_expert.values.size());
    const auto weight = [&](const char* name) { return c.input<bf16>(name, e).data(); };
    moe::Product u(rows, ffn), v(rows, ffn), du(rows, ffn), dv(rows, ffn);
    u.add(hidden, left, [&](int64_t l, int64_t n) { return w_gate[n * hidden + l]; });
    v.add(hidden, left, [&](int64_t l, int64_t n) { return w_up[n * hidden + l]; });
    adapt(u, du, moe::down(tokens_of_expert, weight("a_gate"), rows, lora, hidden), weight("b_gate"), lora);
    adapt(v, dv, moe::down(tokens_of_expert, weight("a_up"), rows, lora, hidden), weight("b_up"), lora);
    const moe::Rows h = moe::gate(
        u, v, [&](int64_t i, int64_t n) { return du.spread(i, n, 1); },
        [&](int64_t i, int64_t n) { return dv.spread(i, n, 1); });

    const bf16* w_down = weight("w_down");
    const auto right = [&](int64_t n, int64_t j) { return w_down[j * ffn + n]; };
    moe::Product sum(rows, hidden), off(rows, hidden), off_adapter(rows, hidden);
    sum.add(ffn, [&](int64_t i, int64_t n) { return h.values[i * ffn + n]; }, right);
    off.add(ffn, [&](int64_t i, int64_t n) { return h.errors[i * ffn + n]; }, right);
    adapt(sum, off_adapter, moe::down(h, weight("a_down"), rows, lora, ffn, 1), weight("b_down"), lora);
    moe::Rows y;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < hidden; ++j) {
        const double value = sum.value(i, j), error = sum.bound(i, j) + off.spread(i, j) + off_adapter.spread(i, j);
        y.values.push_back(value);
        y.errors.push_back(error + (std::fabs(value) + error) * moe::kHalf);
      }
    }
    for (int64_t i = 0; i < rows; ++i)
      mixtures[choices[i].rank].add(routings[choices[i].rank], choices[i].number, y, i);
  }
  for (int r = 0; r < c.world(); ++r) mixtures[r].set(c.output("out", r));
}

FABRICBENCH_ORACLE(expect, fill)
