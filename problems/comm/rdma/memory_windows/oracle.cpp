#include <fabricbench/oracle.h>

using namespace fabricbench::oracle;

// What driver.cu asks for.
void expect(Case& c) {
  const int64_t pieces = c["pieces"], words = c["words"];
  for (int r = 0; r < c.world(); ++r) {
    const auto in = c.input<uint32_t>("in", (r + c.world() - 1) % c.world());
    Output out = c.output("out", r), refused = c.output("refused", r);
    for (int64_t i = 0; i < pieces * words; ++i) out.set(i, in[static_cast<size_t>(i)]);
    // The first word of a piece draws the kind of forbidden access, or none.
    int64_t counts[4] = {};
    for (int64_t p = 0; p < pieces; ++p) {
      const uint32_t kind = in[static_cast<size_t>(p * words)] % 8;
      if (kind < 4) ++counts[kind];
    }
    for (int64_t k = 0; k < 4; ++k) refused.set(k, static_cast<double>(counts[k]));
  }
}

FABRICBENCH_ORACLE(expect)
