#include <fabricbench/oracle.h>

#include <algorithm>

using namespace fabricbench::oracle;

void expect(Case& c) {
  const int64_t hidden = c["hidden"], world = c.world();
  int64_t before = 0;  // rows of the shard in front of this parameter's chunk
  for (const char* name : {"qkv", "proj", "gate_up", "down", "norm"}) {
    const int64_t rows = c[std::string(name) + "_rows"], chunk = (rows + world - 1) / world;
    Output out = c.output(name);
    for (int64_t rank = 0; rank < world; ++rank) {
      const auto shard = c.input<bf16>("shard", static_cast<int>(rank));
      const int64_t first = std::min(rows, rank * chunk), end = std::min(rows, first + chunk);
      const bf16* from = &shard[static_cast<size_t>(before * hidden)];
      for (int64_t i = first * hidden; i < end * hidden; ++i) out.set(i, *from++);
    }
    before += chunk;
  }
}

FABRICBENCH_ORACLE(expect)
