#include <fabricbench/oracle.h>

using namespace fabricbench::oracle;

void expect(Case& c) {
  const int64_t m = c["m"], k = c["k"];
  const int half = c.world() / 2;
  for (int t = 0; t < half; ++t) c.output("columns", t).set(0, c.input<bf16>("rows", half + t)[0]);
  for (int s = 0; s < half; ++s) {
    Output columns = c.output("columns", half + s);
    for (int t = 0; t < half; ++t) {
      const auto rows = c.input<bf16>("rows", t);
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < k; ++j)
          columns.set((t * m + i) * k + j, rows[static_cast<size_t>(i * half * k + s * k + j)]);
      }
    }
  }
}

FABRICBENCH_ORACLE(expect)
