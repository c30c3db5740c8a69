// What PTX instructions are made of (common/ptx/units.h).
#include "common/ptx/units.h"

#include <gtest/gtest.h>

#include <string>

#include "common/ptx/parse/parser.h"
#include "common/ptx/traits.h"

namespace fb::ptx {
namespace {

Work work(const std::string& text) {
  const auto module = parse(
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n.reg .f32 %f<4>;\n.reg .f64 %fd<4>;\n"
      ".reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n.reg .b16 %h<4>;\n.reg .pred %p<4>;\n" +
      text + "\nret;\n}\n");
  EXPECT_TRUE(module.has_value()) << text;
  return module ? work_of(module->functions[0].body[0]) : Work{};
}

TEST(Units, ArithmeticHasTheUnitOfItsType) {
  EXPECT_EQ(work("fma.rn.f32 %f0, %f1, %f2, %f3;").unit, Unit::fma);
  EXPECT_EQ(work("fma.rn.f64 %fd0, %fd1, %fd2, %fd3;").unit, Unit::f64);
  EXPECT_EQ(work("fma.rn.f16x2 %r0, %r1, %r2, %r3;").unit, Unit::half);
  EXPECT_EQ(work("add.s32 %r0, %r1, %r2;").unit, Unit::integer);
  EXPECT_EQ(work("mad.lo.s32 %r0, %r1, %r2, %r3;").unit, Unit::multiply);
  EXPECT_EQ(work("rsqrt.approx.ftz.f32 %f0, %f1;").unit, Unit::special);
  EXPECT_EQ(work("ex2.approx.ftz.f32 %f0, %f1;").unit, Unit::exponential);
  EXPECT_EQ(work("shfl.sync.bfly.b32 %r0, %r1, 1, 31, -1;").unit, Unit::exchange);
  EXPECT_EQ(work("ld.global.u32 %r0, [%rd0];").unit, Unit::load_store);
  EXPECT_EQ(work("bar.sync 0;").unit, Unit::control);
}

TEST(Units, SixtyFourBitsTakeMoreInstructions) {
  EXPECT_EQ(work("add.s32 %r0, %r1, %r2;").count, 1);
  const Work sum = work("add.s64 %rd0, %rd1, %rd2;");
  EXPECT_EQ(sum.count + sum.second_count, 2);
  EXPECT_GT(work("mul.lo.s64 %rd0, %rd1, %rd2;").count, work("mul.lo.s32 %r0, %r1, %r2;").count);
  EXPECT_GT(work("div.s64 %rd0, %rd1, %rd2;").count, work("div.s32 %r0, %r1, %r2;").count);
}

TEST(Units, WhatPtxasRemovesIsNothing) {
  EXPECT_EQ(work("mov.b32 %r0, %r1;").unit, Unit::none);
  EXPECT_EQ(work("cvta.to.global.u64 %rd0, %rd1;").unit, Unit::none);
  EXPECT_EQ(work("neg.f32 %f0, %f1;").unit, Unit::none);
  EXPECT_EQ(work("mov.u32 %r0, %tid.x;").unit, Unit::integer) << "a special register is read";
}

TEST(Units, ScalingOfSubnormalNumbersCosts) {
  EXPECT_GT(work("rcp.approx.f32 %f0, %f1;").second_count, work("rcp.approx.ftz.f32 %f0, %f1;").second_count);
}

TEST(Units, LibraryFunctionsAreKnownByName) {
  EXPECT_EQ(work_of_function("__nv_expf").count, work_of_function("expf").count);
  EXPECT_GT(work_of_function("powf").count, work_of_function("expf").count);
  EXPECT_EQ(work_of_function("tgamma").unit, Unit::f64);
}

}  // namespace
}  // namespace fb::ptx
