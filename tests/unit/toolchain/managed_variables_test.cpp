#include "toolchain/device/managed_variables.h"

#include <gtest/gtest.h>

#include "toolchain/device/grid_constants.h"

namespace fb::toolchain {
namespace {

TEST(ManagedVariables, AreMarkedInThePtx) {
  const char* ir =
      "@x = addrspace(1) global i32 5\n"
      "@.str = private constant [20 x i8] c\"fabricbench.managed\\00\", section \"llvm.metadata\"\n"
      "@.str.1 = private constant [6 x i8] c\"other\\00\", section \"llvm.metadata\"\n"
      "@llvm.global.annotations = appending global [2 x { ptr }] [{ ptr } { ptr addrspacecast (ptr addrspace(1) @x to "
      "ptr), ptr @.str, ptr @.f, i32 1, ptr null }, { ptr } { ptr addrspacecast (ptr addrspace(1) @y to ptr), ptr "
      "@.str.1, ptr @.f, i32 1, ptr null }]\n";
  EXPECT_EQ(
      mark_managed(".visible .global .align 4 .u32 x = 5;\n.global .align 4 .u32 y;\n\tld.global .u32 x;\n", ir),
      ".visible .global .attribute(.managed) .align 4 .u32 x = 5;\n.global .align 4 .u32 y;\n\tld.global .u32 x;\n");
  EXPECT_EQ(mark_managed(".global .align 4 .b8 x[8];\n", ir), ".global .attribute(.managed) .align 4 .b8 x[8];\n");
  EXPECT_EQ(mark_managed(".global .u32 x;\n", "@x = addrspace(1) global i32 5\n"), ".global .u32 x;\n");
}

TEST(GridConstants, AreMarkedForTheCodeGenerator) {
  const std::string ir =
      "@.str = private constant [26 x i8] c\"fabricbench.grid_constant\\00\"\n"
      "define void @k(i32 %0, ptr noundef byval(%struct.Big) align 4 %1, ptr byval({ i32, i32 }) %2) #1 {\n"
      "  call void @llvm.var.annotation.p0.p0(ptr %1, ptr @.str, ptr @.f, i32 6, ptr null)\n"
      "  call void @llvm.var.annotation.p0.p0(ptr %2, ptr @.str, ptr @.f, i32 6, ptr null)\n"
      "  call void @llvm.var.annotation.p0.p0(ptr %7, ptr @.str, ptr @.f, i32 6, ptr null)\n"
      "}\n!nvvm.annotations = !{!0}\n!0 = !{ptr @k, !\"kernel\", i32 1}\n";
  const std::string marked = mark_grid_constants(ir);
  EXPECT_NE(marked.find("!nvvm.annotations = !{!1002, !0}"), std::string::npos) << marked;
  EXPECT_NE(marked.find("!1002 = !{ptr @k, !\"grid_constant\", !1003}\n!1003 = !{i32 2, i32 3}\n"), std::string::npos)
      << marked;
  EXPECT_EQ(mark_grid_constants("define void @k() {\n}\n"), "define void @k() {\n}\n");
}

}  // namespace
}  // namespace fb::toolchain
