#include <fabricbench/oracle.h>

#include <vector>

using namespace fabricbench::oracle;

// Drawn evenly at timed sizes (`lookups` a multiple of 32); elsewhere half of the ids are of one rank, drawn anew at
// each call, and half of those are its first row.
void fill(Case& c) {
  const int64_t lookups = c["lookups"], rows = c["rows"], world = c.world(), popular = c.random.below(world);
  for (int rank = 0; rank < world; ++rank) {
    for (int64_t& id : c.input<int64_t>("id", rank)) {
      id = c.random.below(world * rows);
      if (lookups % 32 == 0 || c.random.below(2) == 0) continue;
      id = popular * rows + c.random.below(2) * (id % rows);
    }
  }
}

void expect(Case& c) {
  const int64_t rows = c["rows"], width = c["width"];
  std::vector<const bf16*> tables;
  for (int rank = 0; rank < c.world(); ++rank) tables.push_back(c.input<bf16>("table", rank).data());
  for (int rank = 0; rank < c.world(); ++rank) {
    Output out = c.output("out", rank);
    int64_t to = 0;
    for (const int64_t id : c.input<int64_t>("id", rank)) {
      const bf16* row = tables[static_cast<size_t>(id / rows)] + id % rows * width;
      for (int64_t k = 0; k < width; ++k) out.set(to++, row[k]);
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
