#include <fabricbench/oracle.h>

using namespace fabricbench::oracle;

void expect(Case& c) {
  const int64_t rows = c["rows"], cols = c["cols"], world = c.world();
  for (int source = 0; source < world; ++source) {
    const auto x = c.input<float>("x", source);
    for (int target = 0; target < world; ++target) {
      Output y = c.output("y", target);
      const float* from = &x[static_cast<size_t>(target * rows * cols)];
      for (int64_t t = 0; t < rows; ++t) {
        const int64_t to = (t * world + source) * cols;
        for (int64_t j = 0; j < cols; ++j) y.set(to + j, *from++);
      }
    }
  }
}

FABRICBENCH_ORACLE(expect)
