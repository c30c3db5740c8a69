#include <fabricbench/oracle.h>

using namespace fabricbench::oracle;

void expect(Case& c) {
  const int64_t tokens = c["tokens"], dim = c["dim"], copies = c["copies"], world = c.world();
  const int64_t q_piece = c["q_heads"] * dim, kv_piece = c["kv_heads"] * dim, groups = (world + copies - 1) / copies;
  const int64_t row = world * q_piece + 2 * groups * kv_piece;  // of a token
  for (int source = 0; source < world; ++source) {
    const auto qkv = c.input<bf16>("qkv", source);
    for (int target = 0; target < world; ++target) {
      const int64_t q_begin = target * q_piece, k_begin = world * q_piece + target / copies * kv_piece,
                    v_begin = k_begin + groups * kv_piece;
      Output q = c.output("q", target), k = c.output("k", target), v = c.output("v", target);
      for (int64_t t = 0; t < tokens; ++t) {
        const bf16* token = &qkv[static_cast<size_t>(t * row)];
        const int64_t to = source * tokens + t;
        for (int64_t j = 0; j < q_piece; ++j) q.set(to * q_piece + j, token[q_begin + j]);
        for (int64_t j = 0; j < kv_piece; ++j) k.set(to * kv_piece + j, token[k_begin + j]);
        for (int64_t j = 0; j < kv_piece; ++j) v.set(to * kv_piece + j, token[v_begin + j]);
      }
    }
  }
}

FABRICBENCH_ORACLE(expect)
