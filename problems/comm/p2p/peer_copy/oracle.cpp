#include <fabricbench/oracle.h>

using namespace fabricbench::oracle;

void expect(Case& c) {
  const int64_t n = c["n"];
  const auto in = c.input<uint32_t>("in", 0).subspan(static_cast<size_t>(c["first"]));
  Output out = c.output("out");
  for (int64_t i = 0; i < n; ++i) out.set(i, in[static_cast<size_t>(i)]);
}

FABRICBENCH_ORACLE(expect)
