// Wide stores: one transaction on hardware, several in strict programs.

#include <gtest/gtest.h>

#include "machine/cuda_program.h"

namespace fb {
namespace {

using machine::Ending;

// Block 0 stores, block 1 loads; a torn value has unequal halves.
constexpr const char* kSource = R"(
extern "C" __global__ void race(uint4* cell, unsigned* torn, unsigned* halves) {
  for (unsigned k = 1; k < 400; ++k) {
    if (blockIdx.x == 0) {
      asm volatile("st.volatile.global.v4.u32 [%0], {%1, %1, %1, %1};" :: "l"(cell), "r"(k) : "memory");
    } else {
      unsigned a, b, c, d;
      asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(cell) : "memory");
      if (a != c) ++*torn;
      if (a != b || c != d) ++*halves;
    }
  }
})";

struct Seen {
  unsigned torn = 0, halves = 0;
};

Seen race(bool tear) {
  machine::LoadOptions load;
  load.tear = tear;
  CudaProgram p(kSource, load);
  const auto cell = p.buffer(std::vector<unsigned>(4));
  const auto torn = p.buffer(std::vector<unsigned>(1)), halves = p.buffer(std::vector<unsigned>(1));
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    machine::DeviceRunOptions options;
    options.seed = seed;
    EXPECT_EQ(p.run("race", {2, 1, 1}, {1, 1, 1}, options, cell, torn, halves).ending, Ending::finished);
  }
  return {p.read<unsigned>(torn, 1)[0], p.read<unsigned>(halves, 1)[0]};
}

TEST(WideStores, AreSeenWholeOnHardware) {
  const Seen seen = race(false);
  EXPECT_EQ(seen.torn, 0u);
  EXPECT_EQ(seen.halves, 0u);
}

TEST(WideStores, MayBeSeenHalfDoneInStrictPrograms) { EXPECT_GT(race(true).torn, 0u); }

TEST(WideStores, OfStrictProgramsKeepEightBytesTogether) { EXPECT_EQ(race(true).halves, 0u); }

}  // namespace
}  // namespace fb
