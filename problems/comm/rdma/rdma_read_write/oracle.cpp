#include <fabricbench/oracle.h>

#include <utility>

using namespace fabricbench::oracle;

void fill(Case& c) {
  const int64_t blocks = c["blocks"];
  for (int r = 0; r < c.world(); ++r) {
    const auto wanted = c.input<int32_t>("wanted", r);
    for (int32_t& block : wanted) block = static_cast<int32_t>(c.random.below(blocks));
    const auto place = c.input<int32_t>("place", r);
    for (size_t i = 0; i < place.size(); ++i) {
      place[i] = static_cast<int32_t>(i);
      std::swap(place[i], place[static_cast<size_t>(c.random.below(static_cast<int64_t>(i) + 1))]);
    }
  }
}

void expect(Case& c) {
  const int64_t blocks = c["blocks"], words = c["words"];
  for (int r = 0; r < c.world(); ++r) {
    const int before = (r + c.world() - 1) % c.world();
    const auto in = c.input<uint32_t>("in", before);
    const auto wanted = c.input<int32_t>("wanted", r), place = c.input<int32_t>("place", before);
    Output pulled = c.output("pulled", r), pushed = c.output("pushed", r);
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t from = wanted[static_cast<size_t>(b)], to = place[static_cast<size_t>(b)];
      for (int64_t i = 0; i < words; ++i) {
        pulled.set(b * words + i, in[static_cast<size_t>(from * words + i)]);
        pushed.set(to * words + i, in[static_cast<size_t>(b * words + i)]);
      }
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
