#include <fabricbench/oracle.h>

#include <vector>

using namespace fabricbench::oracle;

// Sum bounds the error of adding in float, in any order.
void expect(Case& c) {
  const int64_t n = c["n"], world = c.world();
  std::vector<const float*> in;
  for (int r = 0; r < world; ++r) in.push_back(c.input<float>("in", r).data());
  for (int r = 0; r < world; ++r) {
    Output out = c.output("out", r);
    const int64_t first = r * n / world;
    for (int64_t i = 0; i < out.size(); ++i) {
      Sum sum;
      for (const float* values : in) sum.add(values[first + i]);
      out.set(i, sum);
    }
  }
}

FABRICBENCH_ORACLE(expect)
