#include <fabricbench/oracle.h>

#include <vector>

using namespace fabricbench::oracle;

// The sum is formed in float, in any order: Sum bounds its error. Rounding is monotone, so where both ends of that
// interval round to the same bf16, every correct solution has exactly this number. Elsewhere the sum is next to the
// middle between two neighbours, and either may come out.
void expect(Case& c) {
  const auto round = [](double value) -> double { return bf16(static_cast<float>(value)); };
  const int64_t rows = c["rows"], cols = c["cols"], world = c.world();
  std::vector<const bf16*> partial;
  for (int r = 0; r < c.world(); ++r) partial.push_back(c.input<bf16>("partial", r).data());
  for (int owner = 0; owner < c.world(); ++owner) {
    Output out = c.output("out", owner);
    const int64_t first = owner * rows / world * cols;
    for (int64_t i = 0; i < out.size(); ++i) {
      Sum sum;
      for (const bf16* values : partial) sum.add(values[first + i]);
      const double low = round(sum.value() - sum.bound()), high = round(sum.value() + sum.bound());
      if (low == high) {
        out.set(i, low);
      } else {
        out.set(i, sum);
      }
    }
  }
}

FABRICBENCH_ORACLE(expect)
