#include <fabricbench/oracle.h>

using namespace fabricbench::oracle;

// The values of the next rank; to each marker's first the number of items of its block that came before is added.
void expect(Case& c) {
  const int64_t rounds = c["rounds"], blocks = c["blocks"], row = c["threads"] + 1;
  for (int r = 0; r < c.world(); ++r) {
    Output out = c.output("out", r);
    const auto in = c.input<uint32_t>("in", (r + 1) % c.world());
    for (int64_t i = 0; i < out.size(); ++i) out.set(i, in[static_cast<size_t>(i)]);
    for (int64_t round = 0; round < rounds; ++round) {
      for (int64_t block = 0; block < blocks; ++block) {
        const int64_t marker = ((round * blocks + block) * row + row - 1) * 2;
        out.set(marker, in[static_cast<size_t>(marker)] + static_cast<uint32_t>(round * row + row - 1));
      }
    }
  }
}

FABRICBENCH_ORACLE(expect)
