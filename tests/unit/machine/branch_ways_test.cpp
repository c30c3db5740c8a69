// Which ways branches go is counted, and counting changes nothing.

#include "virtual_node/simt/branch_ways.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "cuda_program.h"
#include "virtual_node/machine/engine/branch_report.h"

namespace fb {
namespace {

constexpr const char* kSource = R"(
extern "C" __global__ void choose(int* out, int limit) {
  if (blockIdx.x > 1000000) out[0] = *(volatile int*)out;  // never
  if (threadIdx.x < limit) {                               // some lanes
    asm volatile("st.global.u32 [%0], 7;" ::"l"(out + threadIdx.x) : "memory");
  } else {
    asm volatile("st.global.u32 [%0], 9;" ::"l"(out + threadIdx.x) : "memory");
  }
}
extern "C" __global__ void other(int* out) { out[0] = 1; }
)";

const record::BranchWays* find(const std::vector<record::BranchWays>& all, uint32_t line) {
  const auto found = std::ranges::find_if(all, [&](const auto& b) { return !b.text.empty() && b.line == line; });
  return found == all.end() ? nullptr : &*found;
}

bool was_launched(const std::vector<record::BranchWays>& all, const std::string& kernel) {
  return std::ranges::any_of(all, [&](const auto& b) { return b.text.empty() && b.function == kernel && b.jumped; });
}

TEST(BranchWays, AreCountedByLanes) {
  CudaProgram program(kSource, {.count_branches = true});
  const mem::Address out = program.buffer(std::vector<int>(32));
  ASSERT_EQ(program.run("choose", {1, 1, 1}, {32, 1, 1}, {}, out, 5).ending, machine::Ending::finished);
  const auto branches = machine::branches_of(program.module());
  const auto* never = find(branches, 3);
  const auto* some = find(branches, 4);
  ASSERT_TRUE(never != nullptr && some != nullptr);
  EXPECT_NE(never->jumped, never->fell_through);
  EXPECT_TRUE(some->jumped && some->fell_through);
  EXPECT_TRUE(was_launched(branches, "choose"));
  EXPECT_FALSE(was_launched(branches, "other"));
}

TEST(BranchWays, CountingChangesNothing) {
  CudaProgram counted(kSource, {.count_branches = true}), plain(kSource);
  for (CudaProgram* program : {&counted, &plain}) {
    const mem::Address out = program->buffer(std::vector<int>(32));
    ASSERT_EQ(program->run("choose", {1, 1, 1}, {32, 1, 1}, {}, out, 5).ending, machine::Ending::finished);
    const auto values = program->read<int>(out, 32);
    for (int k = 0; k < 32; ++k) EXPECT_EQ(values[k], k < 5 ? 7 : 9);
  }
  EXPECT_TRUE(machine::branches_of(plain.module()).empty());
}

}  // namespace
}  // namespace fb
