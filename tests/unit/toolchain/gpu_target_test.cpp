#include "toolchain/compile/gpu_target.h"

#include <gtest/gtest.h>

namespace fb::toolchain {
namespace {

const std::string kPtx = "//\n.version 8.5\n.target sm_90\n.address_size 64\n";

TEST(GpuTarget, ClangCompilesWhatItKnowsAsItIs) {
  for (const std::string known : {"sm_90", "sm_90a"}) {
    EXPECT_EQ(clang_architecture(known), known);
    EXPECT_EQ(with_architecture(kPtx, known), kPtx);
  }
  EXPECT_EQ(architecture_macros("sm_90"), Words{});
  EXPECT_EQ(architecture_macros("sm_90a"),
            (Words{"-D__CUDA_ARCH_SPECIFIC__=900", "-D__CUDA_ARCH_FAMILY_SPECIFIC__=900"}));
}

TEST(GpuTarget, OthersAreSm90WithTheirMacrosAndName) {
  EXPECT_EQ(clang_architecture("sm_100a"), "sm_90");
  EXPECT_EQ(architecture_macros("sm_100"), (Words{"-U__CUDA_ARCH__", "-D__CUDA_ARCH__=1000"}));
  EXPECT_EQ(architecture_macros("sm_100a").back(), "-D__CUDA_ARCH_FEAT_SM100_ALL");
  EXPECT_EQ(with_architecture(kPtx, "sm_100a"), "//\n.version 8.7\n.target sm_100a\n.address_size 64\n");
}

}  // namespace
}  // namespace fb::toolchain
