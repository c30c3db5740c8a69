// What a guest does wrong is reported with kernel, source line, block, thread, address and nearest allocation.

#include <gtest/gtest.h>

#include "machine/cuda_program.h"

namespace fb {
namespace {

using machine::Ending;
using simt::TrapKind;

constexpr const char* kSource = R"(
#include <cassert>
extern "C" __global__ void past_end(int* a) { a[threadIdx.x + 8 * (blockIdx.x == 1)] = 1; }
extern "C" __global__ void misaligned(char* a) { *(volatile int*)(a + threadIdx.x) = 1; }
extern "C" __global__ void null(int* a) { if (threadIdx.x == 3) *(volatile int*)0 = 1; }
extern "C" __global__ void reads(int* a) { a[0] = a[1]; }
extern "C" __global__ void asserts(int* a) { assert(threadIdx.x != 6 && "six"); }
extern "C" __global__ void traps(int* a) { if (threadIdx.x == 2) __trap(); }
extern "C" __global__ void shared_past_end(int* a) {
  __shared__ int tile[16];
  tile[threadIdx.x] = 1;
  volatile int* p = tile;
  a[threadIdx.x] = p[threadIdx.x * 64];
}
extern "C" __global__ void shared_unwritten(int* a) {
  __shared__ int tile[64];
  if (threadIdx.x != 4) tile[threadIdx.x] = 1;
  __syncthreads();
  a[threadIdx.x] = tile[threadIdx.x ^ 1];
}
extern "C" __global__ void stack_past_end(int* a) {
  int local[4] = {1, 2, 3, 4};
  volatile int* p = local;
  a[0] = p[100000 + a[0]];
}
)";

class Faults : public testing::Test {
 protected:
  machine::Fault fault_of(const std::string& kernel, mem::Address a, simt::Dim3 grid = {2, 1, 1},
                          simt::Dim3 block = {8, 1, 1}) {
    const auto outcome = program_.run(kernel, grid, block, options_, a);
    EXPECT_EQ(outcome.ending, Ending::fault) << describe(outcome);
    text_ = describe(outcome);
    EXPECT_EQ(outcome.fault.location.kernel, kernel);
    return outcome.fault;
  }

  CudaProgram program_{kSource};
  machine::DeviceRunOptions options_;
  std::string text_;
};

TEST_F(Faults, OutOfBounds) {
  const auto a = program_.buffer(std::vector<int>(8));
  const auto f = fault_of("past_end", a);
  EXPECT_EQ(f.kind, TrapKind::out_of_bounds);
  EXPECT_EQ(f.location.line, 3u);
  EXPECT_EQ(f.block.x, 1u);
  EXPECT_EQ(f.thread.x, 0u);
  EXPECT_EQ(f.address, a + 32);
  EXPECT_NE(text_.find("0 bytes past the end of allocation"), std::string::npos) << text_;
}

TEST_F(Faults, Misaligned) {
  const auto f = fault_of("misaligned", program_.buffer(std::vector<int>(8)));
  EXPECT_EQ(f.kind, TrapKind::misaligned);
  EXPECT_EQ(f.thread.x, 1u);
  EXPECT_EQ(f.location.line, 4u);
}

TEST_F(Faults, Null) {
  const auto f = fault_of("null", program_.buffer(std::vector<int>(8)));
  EXPECT_EQ(f.kind, TrapKind::null_pointer);
  EXPECT_EQ(f.thread.x, 3u);
  EXPECT_EQ(f.address, 0u);
}

TEST_F(Faults, Freed) {
  const auto a = program_.buffer(std::vector<int>(8));
  program_.device().release(a);
  const auto f = fault_of("reads", a);
  EXPECT_EQ(f.kind, TrapKind::use_after_free);
  EXPECT_NE(text_.find("which was freed"), std::string::npos) << text_;
}

TEST_F(Faults, AssertCarriesItsMessage) {
  const auto f = fault_of("asserts", program_.buffer(std::vector<int>(8)));
  EXPECT_EQ(f.kind, TrapKind::guest_assert);
  EXPECT_EQ(f.thread.x, 6u);
  EXPECT_NE(text_.find("six"), std::string::npos) << text_;
}

TEST_F(Faults, Trap) {
  const auto f = fault_of("traps", program_.buffer(std::vector<int>(8)));
  EXPECT_EQ(f.kind, TrapKind::guest_trap);
  EXPECT_EQ(f.thread.x, 2u);
}

TEST_F(Faults, SharedOutOfBounds) {
  const auto f = fault_of("shared_past_end", program_.buffer(std::vector<int>(8)));
  EXPECT_EQ(f.kind, TrapKind::out_of_bounds);
  EXPECT_NE(text_.find("shared memory"), std::string::npos) << text_;
}

TEST_F(Faults, UninitialisedSharedReadsAreReportedOnRequestOnly) {
  const auto a = program_.buffer(std::vector<int>(64));
  EXPECT_EQ(program_.run("shared_unwritten", {1, 1, 1}, {64, 1, 1}, options_, a).ending, Ending::finished);
  options_.check_uninitialised_shared = true;
  const auto f = fault_of("shared_unwritten", a, {1, 1, 1}, {64, 1, 1});
  EXPECT_EQ(f.kind, TrapKind::uninitialised);
  EXPECT_EQ(f.thread.x, 5u);
}

TEST_F(Faults, LocalOutOfBounds) {
  EXPECT_EQ(fault_of("stack_past_end", program_.buffer(std::vector<int>(8)), {1, 1, 1}, {1, 1, 1}).kind,
            TrapKind::out_of_bounds);
}

TEST_F(Faults, TheDeviceGoesOnAfterAFault) {
  const auto a = program_.buffer(std::vector<int>(8));
  fault_of("past_end", a);
  EXPECT_EQ(program_.run("reads", {1, 1, 1}, {1, 1, 1}, options_, a).ending, Ending::finished);
}

TEST(Launch, WrongRequestsAreRefusedWithAReason) {
  CudaProgram p(R"(extern "C" __global__ void __launch_bounds__(64) k(int* a) { *a = 1; })");
  const auto a = p.buffer(std::vector<int>(1));
  const auto refusal = [&](simt::Dim3 grid, simt::Dim3 block, uint32_t shared) -> std::string {
    p.request().dynamic_shared_bytes = shared;
    try {
      p.run("k", grid, block, {}, a);
      return "accepted";
    } catch (const std::runtime_error& e) {
      return e.what();
    }
  };
  EXPECT_EQ(refusal({1, 1, 1}, {65, 1, 1}, 0), "k: 65 threads in a block; k takes at most 64\n");
  EXPECT_EQ(refusal({0, 1, 1}, {64, 1, 1}, 0), "k: a grid, a block and a cluster need at least one thread\n");
  EXPECT_EQ(refusal({1, 1, 1}, {64, 1, 1}, 1 << 20), "k: 1048576 bytes of shared memory; a block has at most 232448\n");
  EXPECT_EQ(refusal({1, 1, 1}, {64, 1, 1}, 0), "accepted");
}

}  // namespace
}  // namespace fb
