#include <fabricbench/oracle.h>

#include <vector>

using namespace fabricbench::oracle;

constexpr int64_t kLeases = 8;

// Words that a lease covers.
static int64_t covered(Case& c, int rank) {
  return (c["counters"] * (c.input<int32_t>("lease", rank)[0] + 1) + kLeases - 1) / kLeases;
}

static void fill(Case& c) {
  for (int r = 0; r < c.world(); ++r) {
    c.input<int32_t>("lease", r)[0] = static_cast<int32_t>(c.random.below(kLeases));
    // Sums stay below 2^53.
    constexpr int64_t kBelow = int64_t{1} << 44;
    for (uint64_t& value : c.input<uint64_t>("add", r)) value = static_cast<uint64_t>(c.random.below(kBelow));
    for (uint64_t& value : c.input<uint64_t>("initial", r)) value = static_cast<uint64_t>(c.random.below(kBelow));
    const int64_t inside = covered(c, r), outside = c["counters"] - inside;
    for (int32_t& index : c.input<int32_t>("index", r)) {
      // One of eight is refused, if any can be. Few words, so that many operations meet in each.
      const bool bad = outside > 0 && c.random.below(8) == 0;
      index = static_cast<int32_t>(bad ? inside + c.random.below(outside) : c.random.below(inside));
    }
  }
}

static void expect(Case& c) {
  for (int r = 0; r < c.world(); ++r) {
    const int partner = (r + c.world() / 2) % c.world();
    const auto initial = c.input<uint64_t>("initial", partner), add = c.input<uint64_t>("add", r);
    const auto index = c.input<int32_t>("index", r);
    std::vector<uint64_t> counters(initial.begin(), initial.end());
    Output before = c.output("before", r), refused = c.output("refused", r), after = c.output("after", partner);
    for (size_t i = 0; i < index.size(); ++i) {
      const bool bad = index[i] >= covered(c, r);
      uint64_t& word = counters[static_cast<size_t>(index[i])];
      before.set(static_cast<int64_t>(i), bad ? 0 : word);
      refused.set(static_cast<int64_t>(i), bad ? 1 : 0);
      if (!bad) word += add[i];
    }
    for (size_t i = 0; i < counters.size(); ++i) after.set(static_cast<int64_t>(i), counters[i]);
  }
}

FABRICBENCH_ORACLE(expect, fill)
