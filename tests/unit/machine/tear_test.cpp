// Wide stores: one transaction on hardware, several in strict programs.

#include <gtest/gtest.h>

#include "machine/cuda_program.h"

namespace fb {
namespace {

using machine::Ending;

// Block 0 stores, block 1 loads; a torn value has unequal halves.
constexpr const char* kSource = R"(
extern "C" __global__ void race(uint4* cell, unsigned* low, unsigned* high, unsigned* halves) {
  for (unsigned k = 1; k < 400; ++k) {
    if (blockIdx.x == 0) {
      asm volatile("st.volatile.global.v4.u32 [%0], {%1, %1, %1, %1};" :: "l"(cell), "r"(k) : "memory");
    } else {
      unsigned a, b, c, d;
      asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(cell) : "memory");
      if (a > c) ++*low;
      if (a < c) ++*high;
      if (a != b || c != d) ++*halves;
    }
  }
})";

struct Seen {
  unsigned low_half_first = 0, high_half_first = 0, halves = 0;
};

Seen race(simt::Tear tear) {
  machine::LoadOptions load;
  load.tear = tear;
  CudaProgram p(kSource, load);
  const auto cell = p.buffer(std::vector<unsigned>(4));
  const auto low = p.buffer(std::vector<unsigned>(1)), high = p.buffer(std::vector<unsigned>(1));
  const auto halves = p.buffer(std::vector<unsigned>(1));
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    machine::DeviceRunOptions options;
    options.seed = seed;
    EXPECT_EQ(p.run("race", {2, 1, 1}, {1, 1, 1}, options, cell, low, high, halves).ending, Ending::finished);
  }
  return {p.read<unsigned>(low, 1)[0], p.read<unsigned>(high, 1)[0], p.read<unsigned>(halves, 1)[0]};
}

TEST(WideStores, AreSeenWholeOnHardware) {
  const Seen seen = race(simt::Tear::no);
  EXPECT_EQ(seen.low_half_first, 0u);
  EXPECT_EQ(seen.high_half_first, 0u);
  EXPECT_EQ(seen.halves, 0u);
}

TEST(WideStores, OfStrictProgramsMayBeSeenWithTheLowHalfOnly) {
  const Seen seen = race(simt::Tear::low_piece_first);
  EXPECT_GT(seen.low_half_first, 0u);
  EXPECT_EQ(seen.high_half_first, 0u);
  EXPECT_EQ(seen.halves, 0u) << "8 bytes stay together";
}

TEST(WideStores, OfStrictProgramsMayBeSeenWithTheHighHalfOnly) {
  const Seen seen = race(simt::Tear::high_piece_first);
  EXPECT_EQ(seen.low_half_first, 0u);
  EXPECT_GT(seen.high_half_first, 0u);
  EXPECT_EQ(seen.halves, 0u) << "8 bytes stay together";
}

}  // namespace
}  // namespace fb
