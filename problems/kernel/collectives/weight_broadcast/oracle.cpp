#include <fabricbench/oracle.h>

#include <utility>

using namespace fabricbench::oracle;

// The root is drawn for every call.
void fill(Case& c) { c.input<int32_t>("root", 0)[0] = static_cast<int32_t>(c.random.below(c.world())); }

void expect(Case& c) {
  const int root = c.input<int32_t>("root", 0)[0];
  for (const auto& [in, out] : {std::pair{"attention", "new_attention"}, {"mlp", "new_mlp"}, {"norm", "new_norm"}}) {
    const auto weights = c.input<bf16>(in, root);
    Output result = c.output(out);
    for (int64_t i = 0; i < result.size(); ++i) result.set(i, weights[static_cast<size_t>(i)]);
  }
}

FABRICBENCH_ORACLE(expect, fill)
