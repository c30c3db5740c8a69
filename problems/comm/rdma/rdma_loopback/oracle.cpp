#include <fabricbench/oracle.h>

using namespace fabricbench::oracle;

void expect(Case& c) {
  const int64_t n = c["n"];
  const auto in = c.input<uint32_t>("in", 0);
  int64_t from = 0;
  for (const char* const name : {"sent", "written", "fetched"}) {
    Output out = c.output(name, 0);
    for (int64_t i = 0; i < n; ++i) out.set(i, in[static_cast<size_t>(from++)]);
  }
}

FABRICBENCH_ORACLE(expect)
