// Time inside a multiprocessor, as lowering prepares it (virtual_node/simt/lower/spans.h): levels, waits, chains.
#include "virtual_node/simt/lower/spans.h"

#include <gtest/gtest.h>

#include <string>

#include "common/ptx/parse/parser.h"

namespace fb::simt {
namespace {

constexpr uint32_t kCycle = 1000;

// Every unit: a latency of 4 cycles, an interval of 1; integers 2; loads from shared memory 30.
UnitTimes times() {
  UnitTimes t;
  t.cycle = kCycle;
  for (auto& unit : t.unit) unit = {4 * kCycle, kCycle};
  t.unit[static_cast<size_t>(ptx::Unit::none)] = {0, 0};
  t.unit[static_cast<size_t>(ptx::Unit::integer)].interval = 2 * kCycle;
  t.shared_latency = 30 * kCycle;
  t.local_latency = 40 * kCycle;
  t.products_per_cycle = 512;
  return t;
}

struct Planned {
  ptx::Module module;
  SpanPlan plan;

  explicit Planned(const std::string& body, const std::string& declared = "")
      : module(*ptx::parse(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p);\n" +
                           declared +
                           ".visible .entry k(.param .u64 p) {\n"
                           ".reg .f32 %f<20>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<20>;\n.reg .pred %p<4>;\n"
                           ".shared .b32 s[64];\n" +
                           body + "\nret;\n}\n")),
        plan(plan_spans(module, 0, times())) {}

  const std::vector<Span>& before(size_t k) const { return plan.before[k]; }
  uint64_t cycles(size_t k, size_t n = 0) const { return before(k).at(n).time / kCycle; }
};

TEST(Spans, IndependentInstructionsTakeAnIssueSlotEach) {
  const Planned p(
      "add.f32 %f1, %f0, %f0; add.f32 %f2, %f0, %f0; add.f32 %f3, %f0, %f0; add.f32 %f4, %f0, %f0;"
      "add.f32 %f5, %f0, %f0; add.f32 %f6, %f0, %f0;");
  EXPECT_EQ(p.cycles(0), 7u) << "six, and the return";
}

TEST(Spans, AChainTakesItsLatencies) {
  const Planned p("add.f32 %f1, %f0, %f0; add.f32 %f2, %f1, %f0; add.f32 %f3, %f2, %f0; add.f32 %f4, %f3, %f0;");
  EXPECT_EQ(p.cycles(0), 16u);
}

TEST(Spans, AWarpAloneIsNoFasterThanItsUnit) {
  const Planned p(
      "add.s32 %r1, %r0, 1; add.s32 %r2, %r0, 2; add.s32 %r3, %r0, 3; add.s32 %r4, %r0, 4;"
      "add.s32 %r5, %r0, 5;");
  EXPECT_EQ(p.cycles(0), 10u);
  EXPECT_EQ(p.before(0)[0].occupied[static_cast<size_t>(Part::integer)], 10 * kCycle);
}

TEST(Spans, MovesCostNothing) {
  const Planned p("mov.f32 %f1, %f0; mov.b32 %r1, %r0; mov.b64 %rd1, %rd0;");
  EXPECT_EQ(p.before(0).at(0).issue, kCycle) << "the return";
}

TEST(Spans, LoadsAreIssuedBeforeAnyIsWaitedFor) {
  const Planned p(
      "ld.global.f32 %f1, [%rd1]; add.f32 %f2, %f1, %f1;"
      "ld.global.f32 %f3, [%rd1+4]; add.f32 %f4, %f3, %f3;");
  EXPECT_EQ(p.plan.slot[0], 0);
  EXPECT_EQ(p.plan.slot[2], 1);
  EXPECT_EQ(p.before(0).at(0).waits, 0);
  EXPECT_TRUE(p.before(1).empty()) << "the first addition does not hold up the second load";
  ASSERT_EQ(p.before(4).size(), 1u) << "before the return";
  EXPECT_EQ(p.before(4)[0].waits, 0b11);
}

TEST(Spans, AnAddressFromALoadIsWaitedFor) {
  const Planned p("ld.global.u64 %rd2, [%rd1]; ld.global.u64 %rd3, [%rd2]; ld.global.u64 %rd4, [%rd3];");
  EXPECT_EQ(p.before(1).at(0).waits, 0b001);
  EXPECT_EQ(p.before(2).at(0).waits, 0b010);
}

TEST(Spans, ALoadBehindAStoreMayReadIt) {
  const Planned p(
      "ld.global.f32 %f1, [%rd1]; st.global.f32 [%rd2], %f1; ld.global.f32 %f2, [%rd3];"
      "add.f32 %f3, %f2, %f2;");
  EXPECT_EQ(p.before(1).at(0).waits, 0b01) << "the store waits for its value";
  ASSERT_FALSE(p.before(4).empty());
  EXPECT_EQ(p.before(4).back().waits, 0b10) << "and the second load is issued behind it";
}

TEST(Spans, AValueIsWaitedForWhereItIsUsedInAnotherBlock) {
  const Planned p(
      "ld.global.f32 %f1, [%rd1]; setp.eq.s32 %p1, %r1, 0; @%p1 bra L; add.f32 %f2, %f0, %f0;"
      "L: add.f32 %f3, %f1, %f1;");
  for (size_t k = 0; k < 4; ++k) {
    for (const Span& s : p.before(k)) EXPECT_EQ(s.waits, 0) << k;
  }
  bool waits = false;
  for (const auto& spans : p.plan.before) {
    for (const Span& s : spans) waits |= s.waits == 1;
  }
  EXPECT_TRUE(waits);
}

TEST(Spans, SharedMemoryHasAFixedLatency) {
  const Planned p("ld.shared.u32 %r1, [%r0]; ld.shared.u32 %r2, [%r1]; ld.shared.u32 %r3, [%r2];");
  EXPECT_EQ(p.plan.slot[0], kNoSlot);
  EXPECT_EQ(p.cycles(0), 64u) << "two whole latencies; nothing uses the third result";
}

TEST(Spans, ReadingTheClockEndsAPiece) {
  const Planned p("mov.u64 %rd1, %clock64; add.f32 %f1, %f0, %f0; add.f32 %f2, %f1, %f0; mov.u64 %rd2, %clock64;");
  ASSERT_FALSE(p.before(1).empty());
  EXPECT_GE(p.before(1)[0].time / kCycle, 8u) << "between the two readings";
}

TEST(Spans, SharesAddUpToTheIssueSlots) {
  const Planned p("add.f32 %f1, %f0, %f0; mul.lo.s64 %rd1, %rd0, %rd0; div.rn.f32 %f2, %f1, %f0;");
  uint64_t sum = 0;
  for (const SpanShare& s : p.before(0).at(0).shares) sum += s.issue;
  EXPECT_EQ(sum, p.before(0)[0].issue);
}

// As nvcc has them: no instruction passes their argument, and what does not need their result goes on.
TEST(Spans, CallsOfTheLibraryAreInline) {
  const std::string call = "{ .param .b32 a; .param .b32 r; st.param.f32 [a], %f0; call.uni (r), exp2f, (a);";
  const Planned p(call + "ld.param.f32 %f1, [r]; }" + call + "ld.param.f32 %f2, [r]; } add.f32 %f3, %f1, %f2;",
                  ".extern .func (.param .b32 r) exp2f(.param .b32 x);\n");
  EXPECT_EQ(p.cycles(0), 20u) << "three fma and a special function behind each other, and the sum";
  EXPECT_EQ(p.before(0)[0].issue, 10 * kCycle) << "four of each, the sum, and the return";
  for (size_t k = 1; k < p.module.functions[0].body.size(); ++k) EXPECT_TRUE(p.before(k).empty()) << k;
}

}  // namespace
}  // namespace fb::simt
