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
  const int64_t tokens = c["tokens"], hidden = c["hidden"], k = c["k"], experts = c["experts"];
  const int world = c.world();
  const int64_t local = experts / world;
  for (int r = 0; r < world; ++r) {
    Output recv_x = c.output("recv_x", r), recv_token = c.output("recv_token", r), recv_topk = c.output("recv_topk", r);
    Output recv_weight = c.output("recv_weight", r), recv_from = c.output("recv_from", r);
    Output expert_count = c.output("expert_count", r);
    std::vector<int64_t> counts(local);
    int64_t row = 0;
    for (int s = 0; s < world; ++s) {
      recv_from.set(s, static_cast<double>(row));
      const bf16* x = c.input<bf16>("x", s).data();
      const int32_t* topk = c.input<int32_t>("topk", s).data();
      const float* weight = c.input<float>("weight", s).data();
      const int64_t count = std::min<int64_t>(c.input<int32_t>("count", s)[0], tokens);
      for (int64_t t = 0; t < count; ++t) {
        const int32_t* chosen = topk + t * k;
        const auto owned = [&](int32_t expert) { return expert >= 0 && expert / local == r; };
        if (std::none_of(chosen, chosen + k, owned)) continue;
        const bf16* token = x + t * hidden;
        for (int64_t i = 0; i < hidden; ++i) recv_x.set(row * hidden + i, token[i]);
        for (int64_t j = 0; j < k; ++j) {
          const bool mine = owned(chosen[j]);
          const int64_t expert = chosen[j] - r * local;
          recv_topk.set(row * k + j, mine ? static_cast<double>(expert) : -1);
          recv_weight.set(row * k + j, mine ? weight[t * k + j] : 0);
          if (mine) ++counts[expert];
        }
        recv_token.set(row++, static_cast<double>(t));
      }
    }
    recv_from.set(world, static_cast<double>(row));
    for (int64_t e = 0; e < local; ++e) expert_count.set(e, static_cast<double>(counts[e]));
    for (int64_t i = row * hidden; i < world * tokens * hidden; ++i) recv_x.ignore(i);
    for (int64_t i = row * k; i < world * tokens * k; ++i) {
      recv_topk.ignore(i);
      recv_weight.ignore(i);
    }
    for (; row < world * tokens; ++row) recv_token.ignore(row);
  }
}

FABRICBENCH_ORACLE(expect, fill)
