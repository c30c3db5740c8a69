#include <fabricbench/oracle.h>

using namespace fabricbench::oracle;

void expect(Case& c) {
  const int64_t tokens = c["tokens"], piece = c["heads"] * c["dim"], world = c.world();
  for (int source = 0; source < world; ++source) {
    const auto in = c.input<bf16>("in", source);
    for (int target = 0; target < world; ++target) {
      Output out = c.output("out", target);
      for (int64_t t = 0; t < tokens; ++t) {
        const bf16* from = &in[static_cast<size_t>((target * tokens + t) * piece)];
        const int64_t to = (t * world + source) * piece;
        for (int64_t k = 0; k < piece; ++k) out.set(to + k, from[k]);
      }
    }
  }
}

FABRICBENCH_ORACLE(expect)
