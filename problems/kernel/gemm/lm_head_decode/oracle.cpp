#include <fabricbench/oracle.h>
#include <fabricbench/products.h>

#include <cstdint>

using namespace fabricbench::oracle;

// A logit is one sum in f32, in any order: `hidden` products and the bias, which is one more term.
void expect(Case& c) {
  const int64_t batch = c["batch"], hidden = c["hidden"], rows = c["rows"], vocabulary = c.world() * rows;
  const bf16* x = c.input<bf16>("x", 0).data();
  Output logits = c.output("logits");
  for (int s = 0; s < c.world(); ++s) {
    const bf16 *weight = c.input<bf16>("weight", s).data(), *bias = c.input<bf16>("bias", s).data();
    Product product(batch, rows);
    product.add(
        hidden, [&](int64_t b, int64_t l) { return x[b * hidden + l]; },
        [&](int64_t l, int64_t j) { return weight[j * hidden + l]; });
    product.add(1, [](int64_t, int64_t) { return 1; }, [&](int64_t, int64_t j) { return bias[j]; });
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t j = 0; j < rows; ++j)
        logits.set(b * vocabulary + s * rows + j, product.value(b, j), product.bound(b, j));
    }
  }
}

FABRICBENCH_ORACLE(expect)
