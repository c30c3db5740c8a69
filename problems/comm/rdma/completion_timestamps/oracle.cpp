#include <fabricbench/oracle.h>

using namespace fabricbench::oracle;

// What driver.cu asks for: transfers of a rank are made one after the other.
void expect(Case& c) {
  const int64_t transfers = c["transfers"], words = c["words"];
  for (int r = 0; r < c.world(); ++r) {
    const auto mine = c.input<uint32_t>("in", r), before = c.input<uint32_t>("in", (r + c.world() - 1) % c.world());
    Output out = c.output("out", r), order = c.output("order", r);
    for (int64_t i = 0; i < transfers * words; ++i) out.set(i, before[static_cast<size_t>(i)]);
    for (int64_t t = 0; t < transfers; ++t) order.set(t, mine[static_cast<size_t>(t * words)]);
    c.output("in_time", r).set(0, static_cast<double>(transfers));
  }
}

FABRICBENCH_ORACLE(expect)
