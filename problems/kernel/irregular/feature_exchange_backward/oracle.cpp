#include <fabricbench/oracle.h>

#include <vector>

using namespace fabricbench::oracle;

// Drawn evenly at timed sizes (`chunk` a multiple of 32); elsewhere one node of each rank is a quarter of all.
void fill(Case& c) {
  const int64_t nodes = c["nodes"], chunk = c["chunk"];
  for (int rank = 0; rank < c.world(); ++rank) {
    const int64_t popular = c.random.below(nodes);
    for (int32_t& id : c.input<int32_t>("id", rank))
      id = static_cast<int32_t>(chunk % 32 != 0 && c.random.below(4) == 0 ? popular : c.random.below(nodes));
  }
}

// Sum has the bound of any order: n terms, n roundings of at most the sum of magnitudes.
void expect(Case& c) {
  const int64_t nodes = c["nodes"], chunk = c["chunk"], width = c["width"];
  const int world = c.world();
  for (int rank = 0; rank < world; ++rank) {
    const auto id = c.input<int32_t>("id", rank);
    std::vector<Sum> sums(static_cast<size_t>(nodes * width));
    std::vector<bool> sent(static_cast<size_t>(nodes));
    for (int k = 0; k < world; ++k) {
      const float* gradient = c.input<float>("gradient", (rank + k) % world).data();
      const float* row = gradient + (world - k) % world * chunk * width;
      for (int64_t j = 0; j < chunk; ++j, row += width) {
        const int64_t node = id[static_cast<size_t>(k * chunk + j)];
        sent[static_cast<size_t>(node)] = true;
        for (int64_t i = 0; i < width; ++i) sums[static_cast<size_t>(node * width + i)].add(row[i]);
      }
    }
    Output out = c.output("out", rank);
    for (int64_t i = 0; i < nodes * width; ++i) {
      if (sent[static_cast<size_t>(i / width)]) {
        out.set(i, sums[static_cast<size_t>(i)]);
      } else {
        out.set(i, 0);
      }
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
