#include "toolchain/device/promoted_constants.h"

#include <gtest/gtest.h>

namespace fb::toolchain {
namespace {

TEST(PromotedConstants, OnesThatOtherFilesNameAreGlobal) {
  const std::string ir =
      "@table = dso_local addrspace(4) constant [2 x ptr] [ptr @f, ptr null], align 8\n"
      "@stated = dso_local addrspace(4) externally_initialized constant i32 5, align 4\n"
      "@own = internal addrspace(4) constant i32 6, align 4\n"
      "@far = external dso_local addrspace(4) constant [0 x i32], align 4\n"
      "@.str = private constant [21 x i8] c\"fabricbench.constant\\00\"\n"
      "@llvm.global.annotations = appending global [1 x { ptr }] [{ ptr } { ptr addrspacecast (ptr addrspace(4) "
      "@stated to ptr), ptr @.str, ptr @.f, i32 1, ptr null }]\n"
      "  %1 = getelementptr [2 x ptr], ptr addrspacecast (ptr addrspace(4) @table to ptr), i64 0, i64 %0\n"
      "  %2 = load i32, ptr addrspace(4) @table, align 8\n"
      "  %3 = load i32, ptr addrspace(4) @table2, align 8\n"
      "  %4 = load i32, ptr addrspace(4) @stated, align 8\n";
  std::string expected = ir;
  for (const std::string before :
       {"@table = dso_local addrspace(", "(ptr addrspace(4) @table", "load i32, ptr addrspace(4) @table,"}) {
    const size_t at = expected.find(before);
    ASSERT_NE(at, std::string::npos);
    expected[expected.find("space(", at) + 6] = '1';
  }
  EXPECT_EQ(with_global_constants(ir), expected);
  EXPECT_EQ(with_global_constants("define void @k() {\n}\n"), "define void @k() {\n}\n");
}

}  // namespace
}  // namespace fb::toolchain
