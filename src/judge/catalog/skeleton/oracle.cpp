#include <fabricbench/oracle.h>

using namespace fabricbench::oracle;

// Expected outputs of all ranks from the inputs of all ranks. TODO
void expect(Case& c) {
  for (int r = 0; r < c.world(); ++r) {
    const auto sent = c.input<float>("in", (r + c.world() - 1) % c.world());
    Output out = c.output("out", r);
    for (int64_t i = 0; i < c["n"]; ++i) out.set(i, sent[static_cast<size_t>(i)]);
  }
}

FABRICBENCH_ORACLE(expect)
