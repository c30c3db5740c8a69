#include <fabricbench/oracle.h>

using namespace fabricbench::oracle;

void expect(Case& c) {
  const int64_t n = c["n"];
  for (int source = 0; source < c.world(); ++source) {
    const auto in = c.input<float>("in", source);
    for (int target = 0; target < c.world(); ++target) {
      Output out = c.output("out", target);
      for (int64_t i = 0; i < n; ++i) out.set(source * n + i, in[static_cast<size_t>(target * n + i)]);
    }
  }
}

FABRICBENCH_ORACLE(expect)
