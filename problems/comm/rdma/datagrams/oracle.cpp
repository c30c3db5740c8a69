#include <fabricbench/oracle.h>

using namespace fabricbench::oracle;

void expect(Case& c) {
  const int64_t n = c["n"];
  for (int r = 0; r < c.world(); ++r) {
    Output out = c.output("out", r);
    for (int from = 0; from < c.world(); ++from) {
      const auto in = c.input<uint32_t>("in", from);
      for (int64_t i = 0; i < n; ++i) out.set(from * n + i, in[static_cast<size_t>(r * n + i)]);
    }
  }
}

FABRICBENCH_ORACLE(expect)
