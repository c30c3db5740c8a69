#include <fabricbench/oracle.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "../mathematics.h"

using namespace fabricbench::oracle;

void fill(Case& c) {
  std::vector<std::span<int32_t>> ids;
  for (int r = 0; r < c.world(); ++r) ids.push_back(c.input<int32_t>("ids", r));
  moe::choose(c.random, ids, c["k"], c["local"], 2 * c["tokens"] * c["k"]);
}

void expect(Case& c) {
  const int64_t tokens = c["tokens"], hidden = c["hidden"], k = c["k"], local = c["local"];
  const int64_t room = 2 * tokens * k, world = c.world();
  std::vector<std::vector<int64_t>> choices(static_cast<size_t>(world * local));  // of each expert, in their order
  std::vector<const bf16*> x;
  for (int s = 0; s < world; ++s) {
    x.push_back(c.input<bf16>("x", s).data());
    const std::span<int32_t> ids = c.input<int32_t>("ids", s);
    for (int64_t i = 0; i < tokens * k; ++i) {
      if (ids[i] >= 0 && ids[i] < world * local) choices[ids[i]].push_back(s * tokens * k + i);
    }
  }
  for (int r = 0; r < world; ++r) {
    Output recv_x = c.output("recv_x", r), recv_from = c.output("recv_from", r);
    Output expert_offsets = c.output("expert_offsets", r);
    int64_t row = 0;
    for (int64_t l = 0; l < local; ++l) {
      expert_offsets.set(l, static_cast<double>(row));
      for (const int64_t choice : choices[r * local + l]) {
        const bf16* token = x[choice / (tokens * k)] + choice / k % tokens * hidden;
        for (int64_t i = 0; i < hidden; ++i) recv_x.set(row * hidden + i, token[i]);
        recv_from.set(row++, static_cast<double>(choice));
      }
    }
    expert_offsets.set(local, static_cast<double>(row));
    for (int64_t i = row * hidden; i < room * hidden; ++i) recv_x.ignore(i);
    for (; row < room; ++row) recv_from.ignore(row);
  }
}

FABRICBENCH_ORACLE(expect, fill)
