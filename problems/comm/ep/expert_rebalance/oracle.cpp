#include <fabricbench/oracle.h>

#include <numeric>
#include <utility>
#include <vector>

using namespace fabricbench::oracle;

// Where every rank can have as many experts from each, it does, so that all calls move equally much. Otherwise
// anything: in half of the calls a permutation, else with copies, and experts that are dropped.
void fill(Case& c) {
  const int64_t slots = c["slots"], world = c.world(), all = world * slots;
  std::vector<int32_t> plan(static_cast<size_t>(all));
  std::iota(plan.begin(), plan.end(), 0);
  const auto shuffle = [&](int32_t* first, int64_t count) {
    for (int64_t i = count - 1; i > 0; --i) std::swap(first[i], first[c.random.below(i + 1)]);
  };
  if (slots % world == 0) {
    const int64_t shift = c.random.below(world);
    std::vector<int32_t> order(plan);
    for (int64_t r = 0; r < world; ++r) shuffle(&order[static_cast<size_t>(r * slots)], slots);
    std::vector<int64_t> given(static_cast<size_t>(world));
    for (int64_t r = 0; r < world; ++r) {
      for (int64_t s = 0; s < slots; ++s) {
        const int64_t from = (r + s + shift) % world;
        plan[static_cast<size_t>(r * slots + s)] =
            order[static_cast<size_t>(from * slots + given[static_cast<size_t>(from)]++)];
      }
    }
  } else if (c.random.below(2) == 0) {
    shuffle(plan.data(), all);
  } else {
    for (int32_t& slot : plan) slot = static_cast<int32_t>(c.random.below(all));
  }
  for (int r = 0; r < c.world(); ++r) std::copy(plan.begin(), plan.end(), c.input<int32_t>("plan", r).begin());
}

void expect(Case& c) {
  const int64_t slots = c["slots"], n = c["n"];
  for (int r = 0; r < c.world(); ++r) {
    Output moved = c.output("moved", r);
    const auto plan = c.input<int32_t>("plan", r);
    for (int64_t s = 0; s < slots; ++s) {
      const int64_t from = plan[static_cast<size_t>(r * slots + s)];
      const auto weights = c.input<bf16>("weights", static_cast<int>(from / slots));
      for (int64_t i = 0; i < n; ++i) moved.set(s * n + i, weights[static_cast<size_t>(from % slots * n + i)]);
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
