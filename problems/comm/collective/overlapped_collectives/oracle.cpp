#include <fabricbench/oracle.h>

using namespace fabricbench::oracle;

void expect(Case& c) {
  const int64_t n = c["n"], p = c["p"];
  Output parameters = c.output("parameters");
  for (int r = 0; r < c.world(); ++r) {
    Output share = c.output("share", r);
    for (int64_t i = 0; i < n; ++i) {
      Sum sum;
      for (int s = 0; s < c.world(); ++s) sum.add(c.input<float>("gradients", s)[static_cast<size_t>(r * n + i)]);
      share.set(i, sum);
    }
    const auto shard = c.input<bf16>("shard", r);
    for (int64_t i = 0; i < p; ++i) parameters.set(r * p + i, shard[static_cast<size_t>(i)]);
  }
}

FABRICBENCH_ORACLE(expect)
