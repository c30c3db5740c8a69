#include <fabricbench/oracle.h>

using namespace fabricbench::oracle;

void expect(Case& c) {
  const int world = c.world(), rows = world / 2;
  for (int r = 0; r < world; ++r) {
    Output sum = c.output("activation_sum", r), mean = c.output("gradient_mean", r);
    const auto left = c.input<float>("activation", r / 2 * 2), right = c.input<float>("activation", r / 2 * 2 + 1);
    for (int64_t i = 0; i < c["n"]; ++i) {
      Sum both;
      both.add(left[static_cast<size_t>(i)]);
      both.add(right[static_cast<size_t>(i)]);
      sum.set(i, both);
    }
    for (int64_t i = 0; i < c["g"]; ++i) {
      Sum all;
      for (int row = 0; row < rows; ++row) all.add(c.input<float>("gradient", 2 * row + r % 2)[static_cast<size_t>(i)]);
      // Two more roundings: of 1 / rows, and of the product. Each is of terms where it comes first.
      mean.set(i, all.value() / rows,
               (all.bound() + 2 * unit_roundoff(DType::f32) * (all.bound() / unit_roundoff(DType::f32) / rows)) / rows);
    }
  }
}

FABRICBENCH_ORACLE(expect)
