#include <fabricbench/oracle.h>

#include <vector>

using namespace fabricbench::oracle;

void expect(Case& c) {
  std::vector<std::span<float>> in;
  for (int r = 0; r < c.world(); ++r) in.push_back(c.input<float>("in", r));
  Output out = c.output("out");
  for (int64_t i = 0; i < out.size(); ++i) {
    Sum sum;
    for (const auto& of_rank : in) sum.add(of_rank[static_cast<size_t>(i)]);
    out.set(i, sum);
  }
}

FABRICBENCH_ORACLE(expect)
