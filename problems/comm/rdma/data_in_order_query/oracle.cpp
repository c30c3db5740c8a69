#include <fabricbench/oracle.h>

using namespace fabricbench::oracle;

void expect(Case& c) {
  const int64_t count = c["messages"] * c["words"];
  for (int r = 0; r < c.world(); ++r) {
    const auto in = c.input<uint32_t>("in", (r + c.world() - 1) % c.world());
    Output out = c.output("out", r);
    for (int64_t i = 0; i < count; ++i) out.set(i, in[static_cast<size_t>(i)]);
  }
}

FABRICBENCH_ORACLE(expect)
