#include <fabricbench/oracle.h>

using namespace fabricbench::oracle;

// What driver.cu asks for.
void expect(Case& c) {
  const int64_t slots = c["slots"], pieces = c["pieces"], elements = pieces * c["words"];
  for (int r = 0; r < c.world(); ++r) {
    const auto in = c.input<uint32_t>("in", (r + c.world() - 1) % c.world());
    Output out = c.output("out", r), right = c.output("right", r);
    for (int64_t i = 0; i < elements; ++i) out.set(i, in[static_cast<size_t>(i)]);
    // Both kinds: all slots; an empty pool and a free that comes twice; three places in each buffer; all slots.
    const int64_t counts[] = {2 * slots, 4, 6 * slots, 2 * slots, 2 * pieces};
    for (int64_t k = 0; k < 5; ++k) right.set(k, static_cast<double>(counts[k]));
  }
}

FABRICBENCH_ORACLE(expect)
