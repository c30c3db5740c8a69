#include "toolchain/device/wide_copies.h"

#include <gtest/gtest.h>

namespace fb::toolchain {
namespace {

TEST(WideCopies, BecomeOneLoadAndOneStore) {
  EXPECT_EQ(
      widen_copies("  call void @llvm.memcpy.p0.p0.i64(ptr align 16 %2, ptr align 16 %1, i64 16, i1 false), !dbg !7, "
                   "!tbaa.struct !8\n"),
      "  %wide0 = getelementptr i8, ptr %1, i64 0, !dbg !7\n"
      "  %wide1 = load <4 x i32>, ptr %wide0, align 16, !dbg !7\n"
      "  %wide2 = getelementptr i8, ptr %2, i64 0, !dbg !7\n"
      "  store <4 x i32> %wide1, ptr %wide2, align 16, !dbg !7\n");
}

TEST(WideCopies, ReadAllBeforeTheyWrite) {
  const std::string text =
      widen_copies("  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %2, ptr align 16 %1, i64 16, i1 false)");
  EXPECT_LT(text.rfind("load <2 x i32>"), text.find("store <2 x i32>")) << text;
  EXPECT_NE(text.find("i64 8\n"), std::string::npos) << text;
}

TEST(WideCopies, KnowConstantExpressions) {
  const std::string text = widen_copies(
      "  call void @llvm.memcpy.p0.p0.i64(ptr align 16 %2, ptr align 16 addrspacecast (ptr addrspace(3) @tile to ptr), "
      "i64 16, i1 false)\n");
  EXPECT_NE(text.find("getelementptr i8, ptr addrspacecast (ptr addrspace(3) @tile to ptr), i64 0"), std::string::npos)
      << text;
}

TEST(WideCopies, LeaveTheRestAlone) {
  for (const char* line : {
           "declare void @llvm.memcpy.p0.p0.i64(ptr noalias nocapture writeonly, ptr noalias nocapture readonly, i64, "
           "i1)\n",
           "  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %2, ptr align 16 %1, i64 16, i1 false)\n",
           "  call void @llvm.memcpy.p0.p0.i64(ptr align 16 %2, ptr align 16 %1, i64 20, i1 false)\n",
           "  call void @llvm.memcpy.p0.p0.i64(ptr align 16 %2, ptr align 16 %1, i64 576, i1 false)\n",
           "  call void @llvm.memcpy.p0.p0.i64(ptr align 16 %2, ptr align 16 %1, i64 %3, i1 false)\n",
           "  call void @llvm.memcpy.p0.p0.i64(ptr align 16 %2, ptr align 16 %1, i64 16, i1 true)\n",
           "  ret void",
       }) {
    EXPECT_EQ(widen_copies(line), line);
  }
}

}  // namespace
}  // namespace fb::toolchain
