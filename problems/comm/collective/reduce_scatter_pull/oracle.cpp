#include <fabricbench/oracle.h>

#include <vector>

using namespace fabricbench::oracle;

// The sum is formed in float; Sum bounds its error in any order. Output::set adds the one rounding to bf16.
void expect(Case& c) {
  const int64_t n = c["n"], world = c.world();
  std::vector<std::span<bf16>> in;
  for (int r = 0; r < world; ++r) in.push_back(c.input<bf16>("in", r));
  for (int r = 0; r < world; ++r) {
    Output out = c.output("out", r);
    const int64_t first = r * n / world;
    for (int64_t i = 0; i < out.size(); ++i) {
      Sum sum;
      for (const auto& of_rank : in) sum.add(of_rank[static_cast<size_t>(first + i)]);
      out.set(i, sum);
    }
  }
}

FABRICBENCH_ORACLE(expect)
