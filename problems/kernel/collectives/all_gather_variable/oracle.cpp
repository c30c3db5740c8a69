#include <fabricbench/oracle.h>

#include <utility>
#include <vector>

using namespace fabricbench::oracle;

// Lengths, new at every call. At timed sizes (`most` a multiple of 32) the longest has always 3/4 of `most` and the sum
// varies little, so that calls and their times are comparable; which rank is the longest is drawn. Elsewhere anything
// from 0 to `most` occurs, and at least one token.
void fill(Case& c) {
  const int64_t most = c["most"], world = c.world();
  std::vector<int64_t> lengths;
  for (int64_t k = 0; k < world; ++k) {
    if (most % 32 != 0) {
      lengths.push_back(c.random.below(3) == 0 ? c.random.below(2) * most : c.random.below(most + 1));
    } else if (k + 1 < world) {
      lengths.push_back(most / 4 + most / 2 * k / (world - 1) - c.random.below(most / 16 + 1));
    } else {
      lengths.push_back(most / 4 * 3);
    }
  }
  if (most % 32 != 0) lengths.back() = 1 + c.random.below(most);
  for (int64_t k = world - 1; k > 0; --k)
    std::swap(lengths[static_cast<size_t>(k)], lengths[static_cast<size_t>(c.random.below(k + 1))]);
  for (int rank = 0; rank < c.world(); ++rank)
    c.input<int32_t>("length", rank)[0] = static_cast<int32_t>(lengths[static_cast<size_t>(rank)]);
}

void expect(Case& c) {
  const int64_t hidden = c["hidden"];
  Output out = c.output("out"), offsets = c.output("offsets");
  int64_t tokens = 0;
  for (int rank = 0; rank < c.world(); ++rank) {
    const int64_t length = c.input<int32_t>("length", rank)[0];
    const auto in = c.input<bf16>("in", rank);
    offsets.set(rank, static_cast<double>(tokens));
    for (int64_t i = 0; i < length * hidden; ++i) out.set(tokens * hidden + i, in[static_cast<size_t>(i)]);
    tokens += length;
  }
  offsets.set(c.world(), static_cast<double>(tokens));
  for (int64_t i = tokens * hidden; i < out.size(); ++i) out.ignore(i);
}

FABRICBENCH_ORACLE(expect, fill)
