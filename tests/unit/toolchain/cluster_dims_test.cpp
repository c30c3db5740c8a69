#include "toolchain/device/cluster_dims.h"

#include <gtest/gtest.h>

namespace fb::toolchain {
namespace {

constexpr std::string_view kPtx =
    ".visible .entry k\n(\n\t.param .u64 k_param_0\n)\n;\n"
    ".visible .entry k(\n\t.param .u64 k_param_0\n)\n{\n\tret;\n}\n";

TEST(ClusterDims, AreFilledUpWithOnes) {
  const auto ptx = apply_cluster_dims(
      std::string(kPtx),
      "@.str = private unnamed_addr constant [25 x i8] c\"fabricbench.cluster_dims\\00\", section \"llvm.metadata\"\n"
      "@.args = private unnamed_addr constant { i32 } { i32 2 }, section \"llvm.metadata\"\n"
      "@llvm.global.annotations = appending global [1 x { ptr, ptr, ptr, i32, ptr }] [{ ptr, ptr, ptr, i32, ptr } "
      "{ ptr @k, ptr @.str, ptr @.str.1, i32 1, ptr @.args }], section \"llvm.metadata\"\n");
  EXPECT_EQ(ptx,
            ".visible .entry k(\n\t.param .u64 k_param_0\n)\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n"
            "{\n\tret;\n}\n");
}

TEST(ClusterDims, IgnoreOtherAnnotations) {
  const auto ptx = apply_cluster_dims(
      std::string(kPtx),
      "@.str = private constant [2 x i8] c\"x\\00\"\n"
      "@llvm.global.annotations = appending global [1 x {}] [{ ptr @k, ptr @.str, ptr @.str.1, i32 1, ptr null }]\n");
  EXPECT_EQ(ptx, ".visible .entry k(\n\t.param .u64 k_param_0\n)\n{\n\tret;\n}\n");
}

}  // namespace
}  // namespace fb::toolchain
