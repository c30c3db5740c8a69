// How threads behave together: divergence, waiting for each other, residency. On CUDA C++, as users write it.

#include <gtest/gtest.h>

#include <algorithm>

#include "machine/cuda_program.h"

namespace fb {
namespace {

using machine::Ending;

TEST(Simt, NestedDivergenceAndEarlyExitGiveEveryThreadItsOwnPath) {
  CudaProgram p(R"(
extern "C" __global__ void paths(int* out) {
  int t = threadIdx.x, v = 0;
  if (t % 7 == 3) { out[t] = -1; return; }
  if (t & 1) {
    if (t & 2) v = 10; else v = 20;
    for (int k = 0; k < t % 5; ++k) { if (k == 2) continue; v += k * t; }
  } else {
    switch (t % 6) { case 0: v = 100; break; case 2: v = 200; break; default: v = 300; }
    while (v % 9 != 0) ++v;
  }
  out[t] = v;
})");
  const auto expect = [](int t) {
    int v = 0;
    if (t % 7 == 3) return -1;
    if (t & 1) {
      v = t & 2 ? 10 : 20;
      for (int k = 0; k < t % 5; ++k) v += k == 2 ? 0 : k * t;
    } else {
      v = t % 6 == 0 ? 100 : t % 6 == 2 ? 200 : 300;
      while (v % 9 != 0) ++v;
    }
    return v;
  };
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const auto out = p.buffer(std::vector<int>(96));
    ASSERT_EQ(p.run("paths", {1, 1, 1}, {96, 1, 1}, {.seed = seed}, out).ending, Ending::finished);
    const auto got = p.read<int>(out, 96);
    for (int t = 0; t < 96; ++t) EXPECT_EQ(got[static_cast<size_t>(t)], expect(t)) << t;
  }
}

// With a reconvergence stack this hangs: the lane that holds the lock waits for the lanes that spin.
TEST(Simt, LanesOfOneWarpMayTakeALockInTurn) {
  CudaProgram p(R"(
extern "C" __global__ void locked(int* lock, int* counter) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      *(volatile int*)counter = *(volatile int*)counter + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}
extern "C" __global__ void held(int* lock, int* counter) {
  while (atomicCAS(lock, 0, 1) != 0) { }
  *(volatile int*)counter = *(volatile int*)counter + 1;
  __threadfence();
  atomicExch(lock, 0);
})");
  for (const char* kernel : {"locked", "held"}) {
    for (uint64_t seed = 0; seed < 4; ++seed) {
      const auto lock = p.buffer(std::vector<int>(1)), counter = p.buffer(std::vector<int>(1));
      const auto outcome = p.run(kernel, {4, 1, 1}, {64, 1, 1}, {.seed = seed}, lock, counter);
      ASSERT_EQ(outcome.ending, Ending::finished) << describe(outcome);
      EXPECT_EQ(p.read<int>(counter, 1)[0], 256) << kernel << " seed " << seed;
    }
  }
}

TEST(Simt, LanesMayWaitForAHigherLaneOfTheirWarp) {
  CudaProgram p(R"(
extern "C" __global__ void chain(volatile int* flags, int* out) {
  int t = threadIdx.x;
  if (t < 31) while (flags[t + 1] == 0) { }
  out[t] = t;
  __threadfence();
  flags[t] = 1;
})");
  const auto flags = p.buffer(std::vector<int>(32)), out = p.buffer(std::vector<int>(32));
  const auto outcome = p.run("chain", {1, 1, 1}, {32, 1, 1}, {}, flags, out);
  EXPECT_EQ(outcome.ending, Ending::finished) << describe(outcome);
  EXPECT_LT(outcome.instructions, 50'000u);  // waiting costs nothing
}

TEST(Simt, ShufflesAndSyncwarpWorkOnPartialMasks) {
  CudaProgram p(R"(
extern "C" __global__ void halves(int* out) {
  int t = threadIdx.x, v = t;
  unsigned mask = t < 16 ? 0x0000ffffu : 0xffff0000u;
  if (t < 16) {
    for (int d = 8; d > 0; d >>= 1) v += __shfl_xor_sync(mask, v, d);
  } else {
    __syncwarp(mask);
    v = __shfl_sync(mask, v, 16) + (int)__popc(__ballot_sync(mask, t & 1));
  }
  __syncwarp();
  out[t] = v;
})");
  const auto out = p.buffer(std::vector<int>(32));
  ASSERT_EQ(p.run("halves", {1, 1, 1}, {32, 1, 1}, {}, out).ending, Ending::finished);
  const auto got = p.read<int>(out, 32);
  for (size_t t = 0; t < 32; ++t) EXPECT_EQ(got[t], t < 16 ? 120 : 24) << t;
}

TEST(Simt, ALaneMissingFromASyncMaskIsReportedAndDoesNotHang) {
  CudaProgram p(R"(
extern "C" __global__ void stranger(int* out) {
  out[threadIdx.x] = __shfl_sync(0x7fffffffu, (int)threadIdx.x, 0);
}
extern "C" __global__ void elsewhere(volatile int* out) {
  if (threadIdx.x == 5) { while (out[100] == 0) { } }
  else out[threadIdx.x] = __shfl_sync(0xffffffffu, (int)threadIdx.x, 0);
})");
  const auto out = p.buffer(std::vector<int>(128));
  const auto stranger = p.run("stranger", {1, 1, 1}, {32, 1, 1}, {}, out);
  ASSERT_EQ(stranger.ending, Ending::fault);
  EXPECT_EQ(stranger.fault.kind, simt::TrapKind::sync_lane_missing);
  EXPECT_EQ(stranger.fault.thread.x, 31u);
  EXPECT_EQ(stranger.fault.location.line, 3u);
  const auto elsewhere = p.run("elsewhere", {1, 1, 1}, {32, 1, 1}, {}, out);
  ASSERT_EQ(elsewhere.ending, Ending::deadlock);
  EXPECT_NE(describe(elsewhere).find("lanes 0x00000020"), std::string::npos) << describe(elsewhere);
}

TEST(Simt, ACooperativeGridSynchronises) {
  CudaProgram p(R"(
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void phases(int* data, int* out) {
  cg::grid_group grid = cg::this_grid();
  int n = gridDim.x * blockDim.x, t = blockIdx.x * blockDim.x + threadIdx.x;
  for (int round = 0; round < 3; ++round) {
    data[t] = t + round * 1000;
    grid.sync();
    out[t] = data[(t + blockDim.x) % n];
    grid.sync();
  }
})");
  constexpr int kThreads = 64 * 132;
  p.request().cooperative = true;
  const auto data = p.buffer(std::vector<int>(kThreads)), out = p.buffer(std::vector<int>(kThreads));
  const auto outcome = p.run("phases", {132, 1, 1}, {64, 1, 1}, {}, data, out);
  ASSERT_EQ(outcome.ending, Ending::finished) << describe(outcome);
  const auto got = p.read<int>(out, kThreads);
  for (int t = 0; t < kThreads; ++t) ASSERT_EQ(got[static_cast<size_t>(t)], (t + 64) % kThreads + 2000) << t;
  EXPECT_THROW(p.run("phases", {1 << 20, 1, 1}, {64, 1, 1}, {}, data, out), std::runtime_error);
}

// As on hardware: blocks that are resident wait for blocks that can't become so.
TEST(Simt, AGridOfWaitingBlocksLargerThanTheDeviceIsAProvedDeadlock) {
  CudaProgram p(R"(
extern "C" __global__ void rendezvous(unsigned* arrived) {
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1u);
    while (*(volatile unsigned*)arrived < gridDim.x) { }
  }
  __syncthreads();
})");
  auto arrived = p.buffer(std::vector<unsigned>(1));
  const auto fits = p.run("rendezvous", {132, 1, 1}, {1024, 1, 1}, {}, arrived);
  EXPECT_EQ(fits.ending, Ending::finished) << describe(fits);
  arrived = p.buffer(std::vector<unsigned>(1));
  const auto hangs = p.run("rendezvous", {300, 1, 1}, {1024, 1, 1}, {}, arrived);
  ASSERT_EQ(hangs.ending, Ending::deadlock);
  const std::string text = describe(hangs);
  EXPECT_EQ(hangs.deadlock.resident_blocks, 264u);
  EXPECT_EQ(hangs.deadlock.unstarted_blocks, 36u);
  EXPECT_NE(text.find("36 not started"), std::string::npos) << text;
  EXPECT_NE(text.find("sees 264"), std::string::npos) << text;
  EXPECT_NE(text.find(":5"), std::string::npos) << text;
}

TEST(Simt, AnEndlessLoopEndsByTheBudgetOrAsADeadlock) {
  CudaProgram p(R"(
extern "C" __global__ void counts(volatile int* out) { for (int k = 0;; ++k) out[threadIdx.x] = k; }
extern "C" __global__ void idles(int* out) { while (true) asm volatile(""); }
extern "C" __global__ void too_late(volatile long long* out) {
  while (out[threadIdx.x] == 0) if (clock64() < 0) return;
}
extern "C" __global__ void times_out(long long* out) {
  long long begin = clock64();
  while (*(volatile long long*)out == 0) if (clock64() - begin > 1000000000ll) { out[1] = 7; return; }
})");
  const auto out = p.buffer(std::vector<int64_t>(32));
  EXPECT_EQ(p.run("counts", {1, 1, 1}, {32, 1, 1}, {.budget = 100'000}, out).ending, Ending::budget);
  const auto timed = p.run("times_out", {1, 1, 1}, {1, 1, 1}, {.budget = 1'000'000}, p.buffer(std::vector<int64_t>(2)));
  EXPECT_EQ(timed.ending, Ending::finished) << describe(timed);
  for (uint64_t seed : {0, 1, 2}) {
    const auto idle = p.run("idles", {1, 1, 1}, {32, 1, 1}, {.seed = seed, .budget = 10'000'000}, out);
    EXPECT_EQ(idle.ending, Ending::deadlock) << describe(idle);
    const auto late = p.run("too_late", {1, 1, 1}, {32, 1, 1}, {.seed = seed, .budget = 10'000'000}, out);
    EXPECT_EQ(late.ending, Ending::deadlock) << describe(late);
  }
}

TEST(Simt, TheSameSeedGivesTheSameRunAndOthersGiveOtherOnes) {
  CudaProgram p(R"(
extern "C" __global__ void race(int* next, int* order) {
  int slot = atomicAdd(next, 1);
  order[slot] = blockIdx.x * blockDim.x + threadIdx.x;
})");
  const auto order_for = [&](uint64_t seed) {
    const auto next = p.buffer(std::vector<int>(1)), order = p.buffer(std::vector<int>(256));
    p.run("race", {8, 1, 1}, {32, 1, 1}, {.seed = seed}, next, order);
    return p.read<int>(order, 256);
  };
  std::vector<std::vector<int>> orders;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    orders.push_back(order_for(seed));
    EXPECT_EQ(order_for(seed), orders.back()) << seed;
  }
  std::ranges::sort(orders);
  orders.erase(std::unique(orders.begin(), orders.end()), orders.end());
  EXPECT_GE(orders.size(), 5u);
}

}  // namespace
}  // namespace fb
