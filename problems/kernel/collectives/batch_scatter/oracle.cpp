#include <fabricbench/oracle.h>

using namespace fabricbench::oracle;

void fill(Case& c) { c.input<int32_t>("root", 0)[0] = static_cast<int32_t>(c.random.below(c.world())); }

void expect(Case& c) {
  const int64_t items = c["items"], words = c["words"], world = c.world();
  const auto batch = c.input<uint32_t>("batch", c.input<int32_t>("root", 0)[0]);
  for (int64_t r = 0; r < world; ++r) {
    Output out = c.output("out", static_cast<int>(r));
    int64_t to = 0;
    for (int64_t s = r; s < items; s += world) {
      const uint32_t* from = &batch[static_cast<size_t>(s * words)];
      for (int64_t k = 0; k < words; ++k) out.set(to++, from[k]);
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
