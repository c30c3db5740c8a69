#include <fabricbench/oracle.h>

using namespace fabricbench::oracle;

// What driver.cu asks for.
void expect(Case& c) {
  const int64_t elements = c["blocks"] * c["words"];
  for (int r = 0; r < c.world(); ++r) {
    const auto in = c.input<uint32_t>("in", (r + c.world() - 1) % c.world());
    Output out = c.output("out", r);
    for (int64_t i = 0; i < elements; ++i) out.set(i, in[static_cast<size_t>(i)]);
    // Bit 0: the queue of the solution is overrun; bit 1: another one.
    const uint32_t fate = c.input<uint32_t>("in", r)[0];
    c.output("errors", r).set(0, fate % 2 + fate / 2 % 2);
  }
}

FABRICBENCH_ORACLE(expect)
