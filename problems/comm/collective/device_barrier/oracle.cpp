#include <fabricbench/oracle.h>

#include <algorithm>

using namespace fabricbench::oracle;

// What driver.cu computes when every barrier holds.
void expect(Case& c) {
  constexpr int64_t kWords = 32, kReadBlocks = 4;
  const int64_t blocks = c["blocks"], rounds = c["rounds"], world = c.world();
  for (int r = 0; r < c.world(); ++r) {
    Output out = c.output("out", r);
    for (int64_t round = 0; round < rounds; ++round) {
      for (int64_t block = 0; block < blocks; ++block) {
        uint32_t mix[kWords] = {};
        for (int from = 0; from < c.world(); ++from) {
          const auto in = c.input<uint32_t>("in", from);
          for (int64_t k = 0; k < std::min(kReadBlocks, blocks); ++k) {
            const int64_t writer = (block + round * kReadBlocks + k) % blocks;
            const int64_t column = (r - from - 1 + world) % world % (world - 1);
            const auto at = static_cast<size_t>(((round * blocks + writer) * (world - 1) + column) * kWords);
            const auto weight = static_cast<uint32_t>(2 * (from * kReadBlocks + k) + 1);
            for (size_t i = 0; i < kWords; ++i) mix[i] += in[at + i] * weight;
          }
        }
        for (int64_t i = 0; i < kWords; ++i) out.set((round * blocks + block) * kWords + i, mix[i]);
      }
    }
  }
}

FABRICBENCH_ORACLE(expect)
