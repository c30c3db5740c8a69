#include <fabricbench/oracle.h>

#include <algorithm>

using namespace fabricbench::oracle;

void fill(Case& c) {
  const int64_t n = c["n"], batches = c["batches"];
  for (int r = 0; r < c.world(); ++r) {
    const auto ends = c.input<uint32_t>("ends", r);
    for (auto row = ends.begin(); row != ends.end(); row += batches) {
      for (int64_t b = 0; b < batches; ++b) row[b] = static_cast<uint32_t>(c.random.below(n + 1));
      row[batches - 1] = static_cast<uint32_t>(n);
      std::sort(row, row + batches);
    }
  }
}

void expect(Case& c) {
  const int64_t n = c["n"], batches = c["batches"];
  const int world = c.world();
  for (int r = 0; r < world; ++r) {
    Output out = c.output("out", r), rung = c.output("rung", r);
    for (int64_t k = 0; k < world - 1; ++k) {
      const int from = static_cast<int>((r + 1 + k) % world);
      const int64_t row = world - 2 - k;  // of the other rank's inputs: (from + 1 + row) % world is r
      const auto in = c.input<uint32_t>("in", from), ends = c.input<uint32_t>("ends", from);
      for (int64_t i = 0; i < n; ++i) out.set(k * n + i, in[static_cast<size_t>(row * n + i)]);
      for (int64_t b = 0; b < batches; ++b) rung.set(k * batches + b, ends[static_cast<size_t>(row * batches + b)]);
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
