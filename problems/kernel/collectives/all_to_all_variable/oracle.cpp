#include <fabricbench/oracle.h>

#include <algorithm>
#include <vector>

using namespace fabricbench::oracle;

// Where there is room for everything, each row goes anywhere, but each rank leaves out about a third of the ranks.
// Where there is room for `tokens` rows only (timed sizes), each rank gives its k-th successor the same share, so that
// each gets `tokens` rows: an exact part for itself, nothing for one successor, shares uneven by up to 3 for the
// others.
void fill(Case& c) {
  const int64_t tokens = c["tokens"], room = c["room"], world = c.world();
  std::vector<int32_t> shares(static_cast<size_t>(world), 0);
  if (room < world) {
    std::vector<double> weights(shares.size(), 0);
    double all = 0;
    const int64_t none = world > 2 ? 1 + c.random.below(world - 1) : 0;
    for (int64_t k = 1; k < world; ++k) {
      if (k != none) all += weights[static_cast<size_t>(k)] = c.random.between(0.5, 1.5);
    }
    const int64_t kept = tokens / world;
    shares[0] = static_cast<int32_t>(kept);
    int64_t left = tokens - kept;
    size_t last = 0;
    for (size_t k = 1; k < shares.size(); ++k) {
      if (weights[k] == 0) continue;
      shares[k] = static_cast<int32_t>(static_cast<double>(tokens - kept) * weights[k] / all);
      left -= shares[k];
      last = k;
    }
    shares[last] += static_cast<int32_t>(left);
  }
  for (int64_t r = 0; r < world; ++r) {
    const auto counts = c.input<int32_t>("counts", static_cast<int>(r));
    if (room < world) {
      for (int64_t d = 0; d < world; ++d)
        counts[static_cast<size_t>(d)] = shares[static_cast<size_t>((d - r + world) % world)];
      continue;
    }
    std::ranges::fill(counts, 0);
    std::vector<size_t> targets;
    for (int64_t d = 0; d < world; ++d) {
      if (c.random.below(3) != 0) targets.push_back(static_cast<size_t>(d));
    }
    if (targets.empty()) targets.push_back(static_cast<size_t>(c.random.below(world)));
    for (int64_t t = 0; t < tokens; ++t)
      ++counts[targets[static_cast<size_t>(c.random.below(static_cast<int64_t>(targets.size())))]];
  }
}

void expect(Case& c) {
  const int64_t hidden = c["hidden"];
  for (int r = 0; r < c.world(); ++r) {
    Output received = c.output("received", r), out = c.output("out", r);
    int64_t at = 0;
    for (int s = 0; s < c.world(); ++s) {
      const auto counts = c.input<int32_t>("counts", s);
      const auto in = c.input<bf16>("in", s);
      int64_t first = 0;
      for (int d = 0; d < r; ++d) first += counts[static_cast<size_t>(d)];
      const int64_t count = counts[static_cast<size_t>(r)];
      received.set(s, static_cast<double>(count));
      for (int64_t i = first * hidden; i < (first + count) * hidden; ++i) out.set(at++, in[static_cast<size_t>(i)]);
    }
    while (at < out.size()) out.ignore(at++);
  }
}

FABRICBENCH_ORACLE(expect, fill)
