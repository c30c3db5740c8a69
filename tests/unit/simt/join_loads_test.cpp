#include "virtual_node/simt/lower/join_loads.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "common/ptx/parse/parser.h"
#include "common/ptx/print/printer.h"

namespace fb::simt {
namespace {

// The loads and stores of shared memory that are left of the body, a line each.
std::string joined(const std::string& body, const char* align = "16") {
  const std::string text = std::string(".version 8.0\n.target sm_90\n.address_size 64\n.shared .align ") + align +
                           " .b8 s[4096];\n.visible .entry k(.param .u64 p) {\n.reg .f32 %f<20>;\n.reg .b32 %r<20>;\n"
                           ".reg .b64 %rd<20>;\n.reg .f64 %d<9>;\n.reg .pred %p<4>;\nmov.u64 %rd0, s;\n"
                           "mov.u32 %r0, %tid.x;\n" +
                           body + "\nret;\n}\n";
  auto module = ptx::parse(text);
  EXPECT_TRUE(module.has_value()) << (module ? "" : to_string(module.error(), text));
  if (!module) return "";
  join_shared_loads(*module);
  std::string left;
  for (const ptx::Instruction& inst : module->functions[0].body) {
    const std::string line = ptx::print(*module, module->functions[0], inst);
    if (line.find(".shared") != std::string::npos) left += line + "\n";
  }
  return left;
}

TEST(JoinLoads, NeighboursOfAnAlignedBaseAreOne) {
  EXPECT_EQ(joined("ld.shared.f32 %f1, [%rd0+4]; ld.shared.f32 %f0, [%rd0];"),
            "ld.shared.v2.f32 {%f0, %f1}, [%rd0];\n");
  EXPECT_EQ(joined("ld.shared.f32 %f0, [%rd0+16]; ld.shared.f32 %f1, [%rd0+20]; ld.shared.f32 %f2, [%rd0+24];"
                   "ld.shared.f32 %f3, [%rd0+28]; ld.shared.f32 %f4, [%rd0+32];"),
            "ld.shared.v4.f32 {%f0, %f1, %f2, %f3}, [%rd0+16];\nld.shared.f32 %f4, [%rd0+32];\n");
  EXPECT_EQ(joined("ld.shared.v2.b32 {%r1, %r2}, [%rd0]; ld.shared.v2.b32 {%r3, %r4}, [%rd0+8];"),
            "ld.shared.v4.b32 {%r1, %r2, %r3, %r4}, [%rd0];\n");
  EXPECT_EQ(joined("ld.shared.f64 %d0, [%rd0]; ld.shared.f64 %d1, [%rd0+8];"),
            "ld.shared.v2.f64 {%d0, %d1}, [%rd0];\n");
}

TEST(JoinLoads, WhatIsNotAlignedStays) {
  const std::string two = "ld.shared.f32 %f0, [%rd1];\nld.shared.f32 %f1, [%rd1+4];\n";
  const auto from = [&](const std::string& address, const char* align = "16") { return joined(address + two, align); };
  EXPECT_EQ(from("mov.u64 %rd1, s;", "4"), two);
  EXPECT_EQ(from("add.s64 %rd1, %rd0, 4;"), two);
  EXPECT_EQ(from("mul.wide.u32 %rd2, %r0, 4; add.s64 %rd1, %rd0, %rd2;"), two);
  // Eight bytes for each thread.
  EXPECT_NE(from("mul.wide.u32 %rd2, %r0, 8; add.s64 %rd1, %rd0, %rd2;"), two);
  EXPECT_NE(from("shl.b32 %r1, %r0, 1; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd0, %rd2;"), two);
  EXPECT_NE(from("and.b32 %r1, %r0, -8; cvt.u64.u32 %rd2, %r1; add.s64 %rd1, %rd0, %rd2;"), two);
}

// A loop's variable is as aligned as its start and its step.
TEST(JoinLoads, AlignmentHoldsAroundALoop) {
  const auto loop = [](const std::string& step) {
    return joined(
        "mov.b64 %rd1, %rd0;\nL: ld.shared.f32 %f0, [%rd1]; ld.shared.f32 %f1, [%rd1+4];\nadd.s64 %rd1, %rd1, " + step +
        ";\nsetp.lt.u64 %p0, %rd1, 4096; @%p0 bra L;");
  };
  EXPECT_EQ(loop("8"), "ld.shared.v2.f32 {%f0, %f1}, [%rd1];\n");
  EXPECT_EQ(loop("4"), "ld.shared.f32 %f0, [%rd1];\nld.shared.f32 %f1, [%rd1+4];\n");
}

TEST(JoinLoads, NothingPassesWhatMayChangeIt) {
  const std::string first = "ld.shared.f32 %f0, [%rd0];\n", second = "ld.shared.f32 %f1, [%rd0+4];\n";
  for (const char* between :
       {"st.shared.f32 [%rd0+4], %f9;", "bar.sync 0;", "st.f32 [%rd3], %f9;", "atom.shared.add.u32 %r5, [%rd0+4], 1;",
        "add.s64 %rd0, %rd0, 16;", "mov.f32 %f1, %f9;", "add.f32 %f9, %f1, %f1;"}) {
    const std::string left = joined(first + between + second);
    EXPECT_EQ(left.find(".v2"), std::string::npos) << between << "\n" << left;
  }
  for (const char* between :
       {"st.global.f32 [%rd3], %f9;", "add.f32 %f9, %f0, %f0;", "ld.shared.f32 %f7, [%rd0+64];"}) {
    EXPECT_NE(joined(first + between + second).find(".v2"), std::string::npos) << between;
  }
}

TEST(JoinLoads, OrderedAndGuardedLoadsStay) {
  for (const char* two : {"ld.volatile.shared.f32 %f0, [%rd0]; ld.volatile.shared.f32 %f1, [%rd0+4];",
                          "@%p0 ld.shared.f32 %f0, [%rd0]; @%p0 ld.shared.f32 %f1, [%rd0+4];",
                          "ld.shared.f32 %f0, [%rd0]; ld.shared.b32 %r1, [%rd0+4];",
                          "ld.shared.f32 %f0, [%rd0]; ld.shared.f32 %f0, [%rd0+4];",
                          "ld.shared.b64 %rd0, [%rd0]; ld.shared.b64 %rd1, [%rd0+8];"})
    EXPECT_EQ(joined(two).find(".v2"), std::string::npos) << two;
}

}  // namespace
}  // namespace fb::simt
