#include <fabricbench/oracle.h>

using namespace fabricbench::oracle;

void expect(Case& c) {
  const int64_t n = c["n"];
  for (int r = 0; r < c.world(); ++r) {
    const int before = (r + c.world() - 1) % c.world();
    const auto in = c.input<uint32_t>("in", before);
    Output out = c.output("out", r);
    for (int64_t i = 0; i < n; ++i) out.set(i, in[static_cast<size_t>(i)]);
    Output immediate = c.output("immediate", r);
    immediate.set(0, static_cast<uint32_t>(before) << 16 | (static_cast<uint32_t>(c.call()) & 0xffff));
    immediate.set(1, static_cast<uint32_t>(4 * n));
  }
}

FABRICBENCH_ORACLE(expect)
