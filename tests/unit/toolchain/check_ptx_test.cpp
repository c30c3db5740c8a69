// Which PTX is none, and which is only unknown to the machine.

#include "toolchain/device/check_ptx.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "toolchain/source/source_overlay.h"

namespace fb::toolchain {
namespace {

std::string module_with(std::string_view instruction) {
  return fmt::format(
      ".version 8.5\n.target sm_90\n.address_size 64\n.file 1 \"solution.cu\"\n.visible .entry k() {{\n"
      "  .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .f32 %f<4>; .reg .pred %p<4>;\n  .loc 1 12 3\n  {}\n  ret;\n}}\n",
      instruction);
}

std::string refusal(std::string_view instruction) {
  const auto checked = check_ptx(module_with(instruction));
  return checked ? "" : checked.error().list[0].message;
}

TEST(CheckPtx, NamesTheSourceLineOfWhatIsNone) {
  for (const std::string_view wrong :
       {"st.relaese.sys.global.u32 [%rd1], %r1;", "ld.acquire.sys.volatile.global.u32 %r1, [%rd1];",
        "ld.global.u64 %r1, [%rd1];", "st.global.u32 [%rd1];", "add.u32 %r1, %r2;", "mov.u32 %r9, 1;",
        "addd.u32 %r1, %r2, %r3;", "ld.param.u64 %rd1, [other_kernel_param_1];", "st.global.u32 [%f1], %r1;"}) {
    EXPECT_TRUE(refusal(wrong).starts_with("solution.cu:12: PTX: ")) << wrong << ": " << refusal(wrong);
  }
}

TEST(CheckPtx, AcceptsWhatIsUnusual) {
  for (const std::string_view right :
       {"{ .reg .b32 %mine; mov.b32 %mine, %r1; st.global.release.sys.b32 [%rd1+-4], %mine; }",
        "@!%p1 red.relaxed.gpu.global.add.u32 [%rd1], 1;", "// a comment\n  /* and another */ membar.gl;"}) {
    EXPECT_EQ(refusal(right), "") << right;
  }
}

TEST(CheckPtx, KnowsInstructionsThatTheMachineLacks) {
  const auto checked = check_ptx(module_with("vadd4.u32.u32.u32 %r1, %r2, %r3, %r1;"));
  ASSERT_TRUE(checked) << checked.error().list[0].message;
  ASSERT_EQ(checked->size(), 1u);
  EXPECT_TRUE((*checked)[0].starts_with("solution.cu:12: PTX: ")) << (*checked)[0];
}

TEST(HostLambdas, AreThoseBehindACapture) {
  EXPECT_EQ(with_host_lambdas("f([=] __device__ (int i) {});"), "f([=] __host__ __device__ (int i) {});");
  EXPECT_EQ(with_host_lambdas("[[nodiscard]] __device__ int f();"), "[[nodiscard]] __device__ int f();");
  EXPECT_EQ(with_host_lambdas("__device__ int g();"), "__device__ int g();");
}

}  // namespace
}  // namespace fb::toolchain
