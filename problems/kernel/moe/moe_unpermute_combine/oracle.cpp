#include <fabricbench/oracle.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "../mathematics.h"

using namespace fabricbench::oracle;

// Choices, and what dispatch leaves at each rank. The rest of recv_from is garbage.
void fill(Case& c) {
  const int64_t tokens = c["tokens"], k = c["k"], local = c["local"], world = c.world(), room = 2 * tokens * k;
  std::vector<std::span<int32_t>> ids;
  for (int r = 0; r < world; ++r) ids.push_back(c.input<int32_t>("ids", r));
  moe::choose(c.random, ids, k, local, room);

  std::vector<std::vector<int32_t>> choices(static_cast<size_t>(world * local));  // of each expert, in their order
  for (int64_t s = 0; s < world; ++s) {
    for (int64_t i = 0; i < tokens * k; ++i) {
      if (ids[s][i] >= 0) choices[ids[s][i]].push_back(static_cast<int32_t>(s * tokens * k + i));
    }
  }
  for (int r = 0; r < world; ++r) {
    const std::span<int32_t> from = c.input<int32_t>("recv_from", r), offsets = c.input<int32_t>("expert_offsets", r);
    int32_t row = 0;
    for (int64_t l = 0; l < local; ++l) {
      offsets[l] = row;
      for (const int32_t choice : choices[r * local + l]) from[row++] = choice;
    }
    offsets[local] = row;
    for (; row < room; ++row) from[row] = static_cast<int32_t>(c.random.below(world * tokens * k));
  }
}

void expect(Case& c) {
  const int64_t tokens = c["tokens"], hidden = c["hidden"], k = c["k"], local = c["local"], world = c.world();
  const int64_t choices = tokens * k, room = 2 * choices;
  std::vector<const bf16*> rows(static_cast<size_t>(world * choices));
  for (int r = 0; r < world; ++r) {
    const bf16* y = c.input<bf16>("y", r).data();
    const std::span<int32_t> from = c.input<int32_t>("recv_from", r);
    const int64_t count = std::min<int64_t>(c.input<int32_t>("expert_offsets", r)[local], room);
    for (int64_t i = 0; i < count; ++i) {
      if (from[i] >= 0 && from[i] < world * choices) rows[from[i]] = y + i * hidden;
    }
  }
  std::vector<Sum> sums(static_cast<size_t>(hidden));
  for (int s = 0; s < world; ++s) {
    Output out = c.output("out", s);
    const std::span<int32_t> ids = c.input<int32_t>("ids", s);
    const std::span<float> weights = c.input<float>("weights", s);
    for (int64_t t = 0; t < tokens; ++t) {
      std::fill(sums.begin(), sums.end(), Sum());
      for (int64_t i = t * k; i < (t + 1) * k; ++i) {
        const bf16* row = rows[s * choices + i];
        if (ids[i] < 0 || row == nullptr) continue;
        const double weight = weights[i];
        for (int64_t n = 0; n < hidden; ++n) sums[n].add(weight * static_cast<double>(row[n]));
      }
      for (int64_t n = 0; n < hidden; ++n) out.set(t * hidden + n, sums[n]);
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
