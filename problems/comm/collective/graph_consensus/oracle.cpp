#include <fabricbench/oracle.h>

#include <algorithm>
#include <vector>

using namespace fabricbench::oracle;

void expect(Case& c) {
  const int world = c.world();
  const auto steps = static_cast<double>(c["steps"]);
  std::vector<Output> out;
  for (int r = 0; r < world; ++r) out.push_back(c.output("out", r));
  for (int64_t i = 0; i < c["n"]; ++i) {
    double mean = 0, largest = 0;
    for (int r = 0; r < world; ++r) {
      const double value = c.input<float>("in", r)[static_cast<size_t>(i)];
      mean += value / world;
      largest = std::max(largest, std::fabs(value));
    }
    // The mean stays, and what is apart from it halves in each round. A round has a sum of `world` terms, a division
    // and three more operations, each of numbers that are no larger than the largest at the beginning; a round halves
    // the errors that were there, and their mean adds the other half.
    const double apart = std::exp2(-steps), bound = steps * (world + 4) * unit_roundoff(DType::f32) * largest;
    for (int r = 0; r < world; ++r) {
      const double value = c.input<float>("in", r)[static_cast<size_t>(i)];
      out[static_cast<size_t>(r)].set(i, mean + apart * (value - mean), bound);
    }
  }
}

FABRICBENCH_ORACLE(expect)
