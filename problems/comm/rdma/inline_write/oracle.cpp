#include <fabricbench/oracle.h>

#include <vector>

using namespace fabricbench::oracle;

void expect(Case& c) {
  const auto words = static_cast<size_t>(c["words"]), rounds = static_cast<size_t>(c["rounds"]);
  const auto world = static_cast<size_t>(c.world());
  // What each rank got in the last round.
  std::vector<std::vector<uint32_t>> got(world, std::vector<uint32_t>(words));
  for (size_t k = 0; k < rounds; ++k) {
    auto sent = got;
    for (size_t r = 0; r < world; ++r) {
      const auto in = c.input<uint32_t>("in", static_cast<int>(r));
      for (size_t i = 0; i < words; ++i) sent[r][i] = 3 * got[r][i] + in[k * words + i];
    }
    for (size_t r = 0; r < world; ++r) {
      got[r] = sent[(r + world - 1) % world];
      Output out = c.output("out", static_cast<int>(r));
      for (size_t i = 0; i < words; ++i) out.set(static_cast<int64_t>(k * words + i), got[r][i]);
    }
  }
}

FABRICBENCH_ORACLE(expect)
