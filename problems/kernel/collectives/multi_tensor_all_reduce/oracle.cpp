#include <fabricbench/oracle.h>

#include <string>
#include <vector>

using namespace fabricbench::oracle;

// Sums in float, in any order: Sum bounds their error.
void expect(Case& c) {
  for (const std::string name : {"gate_a", "gate_b", "down_a", "down_b"}) {
    std::vector<const float*> parts;
    for (int r = 0; r < c.world(); ++r) parts.push_back(c.input<float>(name, r).data());
    Output out = c.output(name + "_sum");
    for (int64_t i = 0; i < out.size(); ++i) {
      Sum sum;
      for (const float* values : parts) sum.add(values[i]);
      out.set(i, sum);
    }
  }
}

FABRICBENCH_ORACLE(expect)
