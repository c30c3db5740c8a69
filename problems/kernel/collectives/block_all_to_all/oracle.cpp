#include <fabricbench/oracle.h>

using namespace fabricbench::oracle;

void expect(Case& c) {
  const int64_t block = c["rows"] * c["hidden"];
  for (int source = 0; source < c.world(); ++source) {
    const auto in = c.input<bf16>("in", source);
    for (int target = 0; target < c.world(); ++target) {
      Output out = c.output("out", target);
      const bf16* from = &in[static_cast<size_t>(target * block)];
      for (int64_t i = 0; i < block; ++i) out.set(source * block + i, from[i]);
    }
  }
}

FABRICBENCH_ORACLE(expect)
