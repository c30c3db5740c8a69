#include <fabricbench/oracle.h>

using namespace fabricbench::oracle;

void expect(Case& c) {
  Output out = c.output("out");
  for (int64_t i = 0; i < c["n"]; ++i) {
    Sum sum;
    for (int r = 0; r < c.world(); ++r) sum.add(c.input<float>("in", r)[i]);
    out.set(i, sum);
  }
}

FABRICBENCH_ORACLE(expect)
