#include <fabricbench/oracle.h>

using namespace fabricbench::oracle;

void expect(Case& c) {
  Output out = c.output("out");
  const int64_t n = c["n"];
  for (int r = 0; r < c.world(); ++r) {
    const auto shard = c.input<uint32_t>("in", r);
    for (int64_t i = 0; i < n; ++i) out.set(r * n + i, shard[static_cast<size_t>(i)]);
  }
}

FABRICBENCH_ORACLE(expect)
