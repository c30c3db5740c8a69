#include <fabricbench/oracle.h>

#include <algorithm>
#include <vector>

using namespace fabricbench::oracle;

// A batch as a router leaves it, anew at every call: a quarter of the experts has no token, sometimes a whole rank; one
// expert is as popular as all others together; some choices are dropped, some tokens lose all of theirs.
void fill(Case& c) {
  const int64_t tokens = c["tokens"], k = c["k"], experts = c["experts"], local = experts / c.world();
  Random& random = c.random;
  const int64_t idle = random.below(2 * c.world());  // no such rank in half of the calls
  std::vector<double> popularity(experts), upto(experts);
  double all = 0;
  for (int64_t e = 0; e < experts; ++e) {
    popularity[e] = e / local == idle || random.below(4) == 0 ? 0 : random.between(0.2, 1);
    all += popularity[e];
  }
  int64_t hot = random.below(experts);
  if (hot / local == idle) hot = (hot + local) % experts;
  popularity[hot] += std::max(all, 1.0);
  double sum = 0;
  for (int64_t e = 0; e < experts; ++e) upto[e] = sum += popularity[e];

  for (int r = 0; r < c.world(); ++r) {
    const int64_t kind = random.below(8);
    c.input<int32_t>("count", r)[0] = static_cast<int32_t>(kind < 4    ? tokens
                                                           : kind == 4 ? 0
                                                                       : random.below(tokens + 1));
    const std::span<int32_t> topk = c.input<int32_t>("topk", r);
    for (int64_t t = 0; t < tokens; ++t) {
      int32_t* row = &topk[t * k];
      const bool dropped = random.below(16) == 0;
      for (int64_t j = 0; j < k; ++j) {
        row[j] = -1;
        if (dropped || random.below(8) == 0) continue;
        for (int attempt = 0; attempt < 8 && row[j] < 0; ++attempt) {
          const double at = random.unit() * sum;
          const auto e = static_cast<int32_t>(std::upper_bound(upto.begin(), upto.end(), at) - upto.begin());
          if (e < experts && std::find(row, row + j, e) == row + j) row[j] = e;
        }
      }
    }
  }
}

void expect(Case& c) {
  const int64_t tokens = c["tokens"], k = c["k"], experts = c["experts"], local = experts / c.world();
  const int world = c.world();
  std::vector<int64_t> offset(world), received(experts);
  for (int r = 0; r < world; ++r) {
    const std::span<int32_t> topk = c.input<int32_t>("topk", r);
    const int64_t count = c.input<int32_t>("count", r)[0];
    std::vector<int64_t> rank_tokens(world), expert_tokens(experts);
    Output to_rank = c.output("to_rank", r);
    for (int64_t t = 0; t < tokens; ++t) {
      std::vector<bool> goes(world);
      for (int64_t j = 0; t < count && j < k; ++j) {
        const int64_t e = topk[t * k + j];
        if (e < 0 || e >= experts) continue;
        ++expert_tokens[e];
        goes[e / local] = true;
      }
      for (int d = 0; d < world; ++d) {
        to_rank.set(t * world + d, goes[d]);
        rank_tokens[d] += goes[d];
      }
    }
    for (int d = 0; d < world; ++d) {
      c.output("rank_tokens", r).set(d, static_cast<double>(rank_tokens[d]));
      c.output("offset", r).set(d, static_cast<double>(offset[d]));
      offset[d] += rank_tokens[d];
    }
    for (int64_t e = 0; e < experts; ++e) {
      c.output("expert_tokens", r).set(e, static_cast<double>(expert_tokens[e]));
      received[e] += expert_tokens[e];
    }
  }
  for (int64_t e = 0; e < experts; ++e) {
    c.output("received", static_cast<int>(e / local)).set(e % local, static_cast<double>(received[e]));
  }
}

FABRICBENCH_ORACLE(expect, fill)
