#include <fabricbench/oracle.h>

using namespace fabricbench::oracle;

void expect(Case& c) {
  const int64_t batch = c["batch"], piece = c["tokens"] * c["hidden"], world = c.world();
  Output out = c.output("out");
  for (int64_t rank = 0; rank < world; ++rank) {
    const auto in = c.input<bf16>("in", static_cast<int>(rank));
    for (int64_t b = 0; b < batch; ++b) {
      const bf16* from = &in[static_cast<size_t>(b * piece)];
      const int64_t to = (b * world + rank) * piece;
      for (int64_t k = 0; k < piece; ++k) out.set(to + k, from[k]);
    }
  }
}

FABRICBENCH_ORACLE(expect)
