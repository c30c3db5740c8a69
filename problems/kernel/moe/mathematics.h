#pragma once

// For the oracles of this family: choices of experts as routers leave them.

#include <fabricbench/oracle.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace moe {

// Chooses up to k different experts for each token of each rank, anew at every call: ids[s][t * k + j], -1 where there
// is none. A quarter of the experts has no token, in half of the calls a whole rank has none; one expert is as popular
// as all others together. One choice in 8 is dropped; the last tokens of some ranks are padding, on some all of them.
// No rank gets more than `room` choices of all ranks: those that come later are dropped, too.
inline void choose(fabricbench::oracle::Random& random, std::vector<std::span<int32_t>>& ids, int64_t k, int64_t local,
                   int64_t room) {
  const auto world = static_cast<int64_t>(ids.size()), experts = world * local;
  const int64_t idle = random.below(2 * world);
  std::vector<double> upto(static_cast<size_t>(experts));
  double sum = 0;
  for (int64_t e = 0; e < experts; ++e) {
    sum += e / local == idle || random.below(4) == 0 ? 0 : random.between(0.2, 1);
    upto[e] = sum;
  }
  int64_t hot = random.below(experts);
  if (hot / local == idle) hot = (hot + local) % experts;
  const double more = std::max(sum, 1.0);
  for (int64_t e = hot; e < experts; ++e) upto[e] += more;
  sum += more;

  std::vector<int64_t> taken(static_cast<size_t>(world));
  // Token by token over all ranks: none of them is served first.
  const auto tokens = static_cast<int64_t>(ids[0].size()) / k;
  std::vector<int64_t> valid;
  for (int64_t s = 0; s < world; ++s) {
    const int64_t kind = random.below(8);
    valid.push_back(kind < 5 ? tokens : kind == 5 ? 0 : random.below(tokens + 1));
  }
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t s = 0; s < world; ++s) {
      int32_t* row = &ids[s][t * k];
      for (int64_t j = 0; j < k; ++j) {
        row[j] = -1;
        if (t >= valid[s] || random.below(8) == 0) continue;
        for (int attempt = 0; attempt < 8 && row[j] < 0; ++attempt) {
          const double at = random.unit() * sum;
          const auto e = static_cast<int32_t>(std::upper_bound(upto.begin(), upto.end(), at) - upto.begin());
          if (e >= experts || std::find(row, row + j, e) != row + j || taken[e / local] == room) continue;
          ++taken[e / local];
          row[j] = e;
        }
      }
    }
  }
}

}  // namespace moe
