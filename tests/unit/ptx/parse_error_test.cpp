// What the parser says about wrong text: place, form, and what is wrong. Each case is one line inside a kernel, line 3
// of the text.

#include <gtest/gtest.h>

#include "common/base/strings.h"
#include "common/ptx/parse/parser.h"

namespace fb::ptx {
namespace {

std::string first_errors(std::string_view text) {
  const auto module = parse(text);
  if (module) return "accepted";
  std::string list;
  for (const auto& [at, message] : module.error().list) {
    if (!list.empty()) list += '\n';
    list += std::to_string(at.line) + ":" + std::to_string(at.column) + ": " + message;
  }
  return list;
}

std::string in_kernel(std::string_view line) {
  return ".version 8.3 .target sm_90 .address_size 64 .func helper(.param .b32 a) { ret; }\n"
         ".entry k() { .reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .f32 %f<4>;\n" +
         std::string(line) + "\nret; }\n";
}

struct Case {
  const char* line;
  const char* errors;
};

// clang-format off
constexpr Case kCases[] = {
      {R"(ld.u64 %r1, [%rd1];)",
       R"(3:8: ld: the register %r1 is 32 bits wide, ld.u64 needs 64)"},
      {R"(foo.bar.u32 %r1;)",
       R"(3:1: "foo.bar.u32" is not an instruction this machine knows)"},
      {R"(add.approx.s32 %r1, %r2, %r3;)",
       R"(3:1: add: modifier .approx does not belong to any form of add (add.int d, a, b; add.sat.s32 d, a, b; add.{u16x2,s16x2} d, a, b; add.cc.int32_64 d, a, b; …))"},
      {R"(add.s32 %r1, %r2;)",
       R"(3:1: add_int: 2 operands do not fit add.s32 (add.int d, a, b))"},
      {R"(add.s32 %r1, %r2, %nothing;)",
       R"(3:19: add_int: %nothing is not declared)"},
      {R"(add.s32 %f1, %r2, %r3;)",
       R"(3:9: add_int: the register %f1 is .f32, add.s32 needs .s32)"},
      {R"(add.s32 %r1, [%rd1], %r3;)",
       R"(3:14: add_int: a must be a register or a constant, not an address)"},
      {R"(add.f32 %f1, %f2, 1;)",
       R"(3:19: add_float: add.f32 needs a floating-point constant)"},
      {R"(mul.wide.s32 %r1, %r2, %r3;)",
       R"(3:14: mul_wide: the register %r1 is 32 bits wide, mul.wide.s32 needs 64)"},
      {R"(shl.b64 %rd1, %rd2, %rd3;)",
       R"(3:21: shl: the register %rd3 is 64 bits wide, shl.b64 needs 32)"},
      {R"(setp.eq.s32 %r1, %r2, %r3;)",
       R"(3:13: setp_int: %r1 is .b32, setp.eq.s32 needs a predicate)"},
      {R"(setp.lt.b32 %p1, %r1, %r2;)",
       R"(3:1: setp_int: setp.lt.b32: this comparison does not exist for .b32)"},
      {R"(selp.b32 %r1, %r2, %r3, %r4;)",
       R"(3:25: selp: %r4 is .b32, selp.b32 needs a predicate)"},
      {R"(ld.global.v4.f32 %f1, [%f2];)",
       R"(3:18: ld: d must be a list of 4 in braces)"},
      {R"(ld.global.v2.f32 {%f1, %f2, %f3}, [%rd1];)",
       R"(3:18: ld: d must be a list of 2 in braces)"},
      {R"(st.global.v2.f32 [%rd1], {%f1};)",
       R"(3:26: st: b must be a list of 2 in braces)"},
      {R"(add.s32 {%r1}, %r2, %r3;)",
       R"(3:9: add_int: d must be a register, not a list in braces)"},
      {R"(atom.global.add.u32 {%r1}, [%rd1], %r2;)",
       R"(3:21: atom_op2: d must be a register, not a list in braces)"},
      {R"(ld.global.f32 %f1, [%f2];)",
       R"(3:21: ld: an address register has 32 or 64 integer bits, %f2 is .f32)"},
      {R"(ld.acquire.global.u32 %r1, [%rd1];)",
       R"(3:1: ld: ld.acquire.global.u32: an ordered access needs a scope (.cta, .cluster, .gpu or .sys))"},
      {R"(ld.global.L2::cache_hint.u32 %r1, [%rd1];)",
       R"(3:1: ld: 2 operands do not fit ld.global.L2::cache_hint.u32 (ld{.mmio}{.ld_order}{.scope}{.space}{.ld_cache}{.l1_evict}{.l2_evict}{.L2::cache_hint}{.l2_prefetch}{.vec}.mem d+, [a]{, policy:b64 @L2::cache_hint}))"},
      {R"(atom.global.and.u32 %r1, [%rd1], %r2;)",
       R"(3:1: atom_op2: atom.global.and.u32: this operation does not exist for .u32)"},
      {R"(cvt.f16.f32 %h1, %f1;)",
       R"(3:1: cvt_float_to_float: cvt.f16.f32: this conversion needs a rounding modifier)"},
      {R"(mov.b64 %rd1, {%r1, %h2};)",
       R"(3:1: mov_pack: mov.b64: 2 registers of 32 bits do not make .b64 (%h2 is .b16))"},
      {R"(mov.u32 %r1, %tid;)",
       R"(3:14: %tid is a vector: name a component, such as %tid.x)"},
      {R"(mov.u32 %r1, %clock64;)",
       R"(3:14: mov: the special register %clock64 is 64 bits wide, mov.u32 needs 32)"},
      {R"(add.f16 %h1, %h2, 15360;)",
       R"(3:19: add_half: add.f16 needs a floating-point constant)"},
      {R"(mov.u32 %r1, 0f3F800000;)",
       R"(3:14: mov: mov.u32 cannot take a floating-point constant of this width)"},
      {R"(ld.relaxed.relaxed.sys.u32 %r1, [%rd1];)",
       R"(3:1: ld: modifier .relaxed is given twice)"},
      {R"(add.s32.s32 %r1, %r2, %r3;)",
       R"(3:1: add: no form of add takes just these modifiers and types (add.int d, a, b; add.sat.s32 d, a, b; add.{u16x2,s16x2} d, a, b; add.cc.int32_64 d, a, b; …))"},
      {R"(bra nowhere;)",
       R"(3:5: the label nowhere is not defined)"},
      {R"(@%r1 exit;)",
       R"(3:2: the guard %r1 is .b32, not .pred)"},
      {R"(call nothing, (%r1);)",
       R"(3:6: call: nothing is not declared)"},
      {R"(call helper, (%r1, %r2);)",
       R"(3:1: call: the callee has 1 parameters and 0 returns, the call 2 and 0)"},
      {R"(call %rd1, (%r1);)",
       R"(3:6: call: an indirect call needs its prototype)"},
      {R"(elect.sync %r1, -1;)",
       R"(3:1: elect: 2 operands do not fit elect.sync (elect.sync d/_:u32|p, mask:u32))"},
      {R"(lop3.b32 %r1, %r2, %r3, %r4, %r5;)",
       R"(3:30: lop3: imm must be an integer constant, not a register)"},
      {R"(.reg .b32 %r1;)",
       R"(3:11: %r1 is declared twice)"},
      {R"(.reg .b32 big<2000000>;)",
       R"(3:15: a number of registers is more than 1000000)"},
      {R"(here: exit; here: exit;)",
       R"(3:13: the label here is defined twice)"},
      {R"(mov.u32 %r1, (1/0);)",
       R"(3:16: division by zero)"},
      {R"(mov.u32 %r1, 0x;)",
       R"(3:14: cannot read "0x")"},
      {R"(.maxntid 5;)",
       R"(3:1: .maxntid does not belong in a function)"},
      {R"(add.s32 %r1, %r2, 3)",
       R"(4:1: expected , or ; before "ret")"},
      {R"(not.b32 %r1, !%r2;)",
       R"(3:14: only a predicate can be negated)"},
      {R"(wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 %r1, %r2;)",
       R"(3:1: wgmma_mma_async: 2 operands do not fit wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 (wgmma.mma_async.sync.aligned.wgmma_shape{.satfinite}.{f16,f32,s32}.mma_type.mma_type D, A, desc:b64, cond{, imm}{, imm}{, imm}{, imm}))"},
};
// clang-format on

TEST(ParseError, every_error_has_its_place_and_says_what_is_wrong) {
  for (const Case& c : kCases) EXPECT_EQ(first_errors(in_kernel(c.line)), c.errors) << c.line;
}

TEST(ParseError, reading_goes_on_after_an_error) {
  EXPECT_EQ(first_errors(in_kernel("add.s32 %r1, %r2; bogus; mov.u32 %r1, %rd1;")),
            "3:1: add_int: 2 operands do not fit add.s32 (add.int d, a, b)\n"
            "3:19: \"bogus\" is not an instruction this machine knows\n"
            "3:39: mov: the register %rd1 is 64 bits wide, mov.u32 needs 32");
}

TEST(ParseError, module_scope_errors) {
  EXPECT_EQ(first_errors(""), "0:0: there is no .version");
  EXPECT_EQ(first_errors(".version eight"), "1:10: expected a version such as 8.3 before \"eight\"");
  EXPECT_EQ(first_errors(".version 8.3 .nonsense"),
            "1:14: expected a directive, a function or a variable before \".nonsense\"");
  EXPECT_EQ(first_errors(".version 8.3 .global .u32 x; .global .u32 x;"), "1:43: x is declared twice");
  EXPECT_EQ(first_errors(".version 8.3 .global .u32 x[2] = {1, 2, 3};"), "1:41: too many initial values");
  EXPECT_EQ(first_errors(".version 8.3 .global .u64 x = y;"), "1:31: y is not declared");
  EXPECT_EQ(first_errors(".version 8.3 .global .b8 x[99999999999999];"), "1:28: the variable is too large");
  EXPECT_EQ(first_errors(".version 8.3 .entry k() { ret;"), "1:31: expected } before the end of the text");
  EXPECT_EQ(first_errors(".version 8.3 .func f(.reg .b32 a) { ret; }"),
            "1:22: parameters in registers are not supported");
}

// Hostile text must neither crash nor take long; the limits are in module_parser.h.
TEST(ParseError, hostile_text_is_refused_quickly) {
  const auto repeat = [](std::string_view piece, size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i) text += piece;
    return text;
  };
  const std::string kernel = ".version 8.3 .entry k() { .reg .b32 a; ";
  EXPECT_FALSE(parse(kernel + repeat("{", 100000)).has_value());
  EXPECT_FALSE(parse(kernel + "mov.u32 a, " + repeat("(", 100000)).has_value());
  EXPECT_FALSE(parse(kernel + "mov.u32 a, " + repeat("-", 100000)).has_value());
  EXPECT_FALSE(parse(kernel + "mov.u32 a, {" + repeat("a, ", 100000)).has_value());
  EXPECT_FALSE(parse(kernel + repeat(".reg .b32 r<900000>;", 100)).has_value());
  EXPECT_FALSE(parse(".version 8.3 " + repeat(".global .b8 x[999999999] = {1};", 100)).has_value());
  EXPECT_FALSE(parse(".version 8.3 .global .b8 x" + repeat("[9]", 100)).has_value());
  EXPECT_FALSE(parse(".version 8.3 .section .debug_x " + repeat("{", 100000)).has_value());
}

}  // namespace
}  // namespace fb::ptx
