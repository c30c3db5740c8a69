#include <fabricbench/oracle.h>

#include <algorithm>
#include <vector>

using namespace fabricbench::oracle;

// For each token of each rank, a bit for each rank that owns one of its experts. None of tokens that are not valid.
std::vector<std::vector<uint32_t>> destinations(Case& c) {
  const int64_t tokens = c["tokens"], k = c["k"], local = c["experts"] / c.world();
  std::vector<std::vector<uint32_t>> ranks(c.world(), std::vector<uint32_t>(tokens));
  for (int s = 0; s < c.world(); ++s) {
    const int32_t* topk = c.input<int32_t>("topk", s).data();
    const int64_t count = std::min<int64_t>(c.input<int32_t>("count", s)[0], tokens);
    for (int64_t i = 0; i < count * k; ++i) {
      if (topk[i] >= 0) ranks[s][i / k] |= 1u << topk[i] / local;
    }
  }
  return ranks;
}

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

  // What dispatch leaves at each rank. The rest of recv_token is garbage.
  const auto ranks = destinations(c);
  for (int r = 0; r < c.world(); ++r) {
    const std::span<int32_t> from = c.input<int32_t>("recv_from", r), token = c.input<int32_t>("recv_token", r);
    int32_t row = 0;
    for (int s = 0; s < c.world(); ++s) {
      from[s] = row;
      for (int64_t t = 0; t < tokens; ++t) {
        if (ranks[s][t] >> r & 1) token[row++] = static_cast<int32_t>(t);
      }
    }
    from[c.world()] = row;
    for (; row < c.world() * tokens; ++row) token[row] = static_cast<int32_t>(random.below(tokens));
  }
}

void expect(Case& c) {
  const int64_t tokens = c["tokens"], hidden = c["hidden"];
  const int world = c.world();
  const auto ranks = destinations(c);
  std::vector<std::span<bf16>> y;
  std::vector<std::span<int32_t>> from, token;
  for (int r = 0; r < world; ++r) {
    y.push_back(c.input<bf16>("y", r));
    from.push_back(c.input<int32_t>("recv_from", r));
    token.push_back(c.input<int32_t>("recv_token", r));
  }

  std::vector<Sum> sums(hidden);
  for (int s = 0; s < world; ++s) {
    Output out = c.output("out", s);
    const int64_t count = std::min<int64_t>(c.input<int32_t>("count", s)[0], tokens);
    for (int64_t i = count * hidden; i < tokens * hidden; ++i) out.ignore(i);

    std::vector<int64_t> row(world);  // the next one of s at each rank; tokens ascend
    for (int r = 0; r < world; ++r) row[r] = std::max(from[r][s], 0);
    for (int64_t t = 0; t < count; ++t) {
      std::fill(sums.begin(), sums.end(), Sum());
      for (int r = 0; r < world; ++r) {
        const int64_t end = std::min<int64_t>(from[r][s + 1], world * tokens);
        while (row[r] < end && token[r][row[r]] < t) ++row[r];
        if (row[r] >= end || token[r][row[r]] != t || (ranks[s][t] >> r & 1) == 0) continue;
        const bf16* part = &y[r][row[r] * hidden];
        for (int64_t i = 0; i < hidden; ++i) sums[i].add(part[i]);
      }
      for (int64_t i = 0; i < hidden; ++i) out.set(t * hidden + i, sums[i]);
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
