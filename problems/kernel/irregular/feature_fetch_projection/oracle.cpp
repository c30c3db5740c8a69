#include <fabricbench/oracle.h>

#include <cmath>
#include <vector>

using namespace fabricbench::oracle;

// Drawn evenly at timed sizes (`fetches` a multiple of 32); elsewhere half of the ids are of one rank, drawn anew at
// each call.
void fill(Case& c) {
  const int64_t fetches = c["fetches"], nodes = c["nodes"], world = c.world(), popular = c.random.below(world);
  for (int rank = 0; rank < world; ++rank) {
    for (int64_t& id : c.input<int64_t>("id", rank)) {
      id = c.random.below(world * nodes);
      if (fetches % 32 != 0 && c.random.below(2) == 0) id = popular * nodes + id % nodes;
    }
  }
}

// A product of bf16 numbers is exact in f32. Each takes part in fewer than `width` additions; tensor cores align terms
// to the largest of them and cut off instead of rounding, 2 units each. (1 + 2u)^n - 1 is at most 2un / (1 - 2un).
void expect(Case& c) {
  const int64_t fetches = c["fetches"], nodes = c["nodes"], world = c.world(), compared = fetches > 256 ? 64 : fetches;
  const auto width = static_cast<size_t>(c["width"]), columns = static_cast<size_t>(c["columns"]);
  const double all = 2 * static_cast<double>(width) * unit_roundoff(DType::f32), share = all / (1 - all);
  const auto projection = c.input<bf16>("projection", 0);
  const std::vector<double> weights(projection.begin(), projection.end());
  std::vector<const bf16*> features;
  for (int rank = 0; rank < world; ++rank) features.push_back(c.input<bf16>("feature", rank).data());
  std::vector<double> sum(columns), magnitude(columns);
  for (int rank = 0; rank < world; ++rank) {
    const auto id = c.input<int64_t>("id", rank);
    Output out = c.output("out", rank);
    int64_t left = compared;
    for (int64_t i = 0; i < fetches; ++i) {
      const int64_t to = i * static_cast<int64_t>(columns);
      if (c.random.below(fetches - i) >= left) {  // `compared` of all, each set equally likely
        for (size_t o = 0; o < columns; ++o) out.ignore(to + static_cast<int64_t>(o));
        continue;
      }
      --left;
      const int64_t node = id[static_cast<size_t>(i)];
      const bf16* x = features[static_cast<size_t>(node / nodes)] + node % nodes * static_cast<int64_t>(width);
      sum.assign(columns, 0);
      magnitude.assign(columns, 0);
      for (size_t d = 0; d < width; ++d) {
        const double factor = x[d];
        const double* row = &weights[d * columns];
        for (size_t o = 0; o < columns; ++o) {
          sum[o] += factor * row[o];
          magnitude[o] += std::fabs(factor * row[o]);
        }
      }
      for (size_t o = 0; o < columns; ++o) out.set(to + static_cast<int64_t>(o), sum[o], share * magnitude[o]);
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
