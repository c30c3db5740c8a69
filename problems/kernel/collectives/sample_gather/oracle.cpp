#include <fabricbench/oracle.h>

using namespace fabricbench::oracle;

void fill(Case& c) { c.input<int32_t>("root", 0)[0] = static_cast<int32_t>(c.random.below(c.world())); }

void expect(Case& c) {
  const int64_t items = c["items"], width = c["width"], world = c.world();
  const int32_t root = c.input<int32_t>("root", 0)[0];
  for (int r = 0; r < c.world(); ++r) {
    if (r == root) continue;
    Output all = c.output("all", r);
    for (int64_t i = 0; i < items * width; ++i) all.set(i, 0);
  }
  Output all = c.output("all", root);
  for (int64_t r = 0; r < world; ++r) {
    const auto part = c.input<bf16>("part", static_cast<int>(r));
    for (int64_t item = r; item < items; item += world) {
      const bf16* from = &part[static_cast<size_t>(item / world * width)];
      for (int64_t k = 0; k < width; ++k) all.set(item * width + k, from[k]);
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
