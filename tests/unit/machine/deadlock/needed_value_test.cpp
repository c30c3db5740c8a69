// The value that ends a spinning loop: as a predicate on bytes, and as it is read off real code.

#include "virtual_node/machine/deadlock/needed_value.h"

#include <gtest/gtest.h>

#include "tests/unit/machine/deadlock/small_warp.h"

namespace fb::machine {
namespace {

TEST(Need, ComparesUnsigned) {
  const Need need{.relation = Relation::at_least, .value = 3};
  EXPECT_FALSE(need.holds(2));
  EXPECT_TRUE(need.holds(3));
  EXPECT_TRUE(need.holds(0xffffffff));
  EXPECT_EQ(need.text(), ">= 3");
}

TEST(Need, ComparesSigned) {
  const Need need{.relation = Relation::less, .is_signed = true, .value = 0};
  EXPECT_TRUE(need.holds(0xffffffff));
  EXPECT_FALSE(need.holds(1));
}

TEST(Need, HoldsForEachRelation) {
  const struct {
    Relation relation;
    bool below, same, above;
    const char* text;
  } cases[] = {
      {Relation::equal, false, true, false, "5"},  {Relation::not_equal, true, false, true, "other than 5"},
      {Relation::less, true, false, false, "< 5"}, {Relation::at_most, true, true, false, "<= 5"},
      {Relation::more, false, false, true, "> 5"}, {Relation::at_least, false, true, true, ">= 5"},
  };
  for (const auto& c : cases) {
    const Need need{.relation = c.relation, .value = 5};
    EXPECT_EQ(need.holds(4), c.below) << c.text;
    EXPECT_EQ(need.holds(5), c.same) << c.text;
    EXPECT_EQ(need.holds(6), c.above) << c.text;
    EXPECT_EQ(need.text(), c.text);
  }
}

TEST(Need, LooksAtItsOwnBytesOnly) {
  const Need need{.relation = Relation::equal, .offset = 4, .value = 9};
  EXPECT_TRUE(need.holds(uint64_t{9} << 32 | 1));
  EXPECT_FALSE(need.holds(9));
}

TEST(Need, UndoesADifference) {
  const Need minus{.relation = Relation::equal, .add = ~uint64_t{0} - 2, .value = 0};  // v - 3 == 0
  EXPECT_TRUE(minus.holds(3));
  EXPECT_EQ(minus.number(), 3u);
  const Need from{.relation = Relation::at_most, .is_signed = true, .negative = true, .add = 7, .value = 0};
  EXPECT_TRUE(from.holds(8));  // 7 - v <= 0
  EXPECT_FALSE(from.holds(6));
  EXPECT_EQ(from.text(), ">= 7");
}

TEST(Need, OfSomeBitsHasNoNumber) {
  const Need need{.relation = Relation::not_equal, .mask = 0x80, .value = 0};
  EXPECT_FALSE(need.number());
  EXPECT_TRUE(need.holds(0xff));
  EXPECT_FALSE(need.holds(0x7f));
  EXPECT_EQ(need.text(), "value & 0x80 to be other than 0");
}

// What the loop, which a warp sleeps in, needs; empty: not understood.
std::string need_of(const std::string& loop, uint32_t threads = 1) {
  SmallWarp small("AGAIN:\n" + loop, mem::allocate(1, 0, 256, "flags"), threads);
  small.run();
  const auto& splits = small.warp().splits();
  if (splits.size() != 1 || splits[0].asleep_on.empty()) return "awake";
  const auto need = find_need(small.warp(), splits[0], splits[0].asleep_on[0], 0);
  return need ? need->text() : "";
}

TEST(FindNeed, ReadsTheComparisonOfTheClosingBranch) {
  EXPECT_EQ(need_of("ld.acquire.sys.global.u32 %r1, [%rd0];\nsetp.ne.u32 %p1, %r1, 3;\n@%p1 bra AGAIN;"), "3");
  EXPECT_EQ(need_of("ld.acquire.sys.global.u32 %r1, [%rd0];\nsetp.lt.u32 %p1, %r1, 3;\n@%p1 bra AGAIN;"), ">= 3");
  EXPECT_EQ(need_of("ld.acquire.sys.global.u32 %r1, [%rd0];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra AGAIN;"),
            "other than 0");
}

TEST(FindNeed, FollowsANegatedPredicate) {
  EXPECT_EQ(need_of("ld.acquire.sys.global.u32 %r1, [%rd0];\nsetp.eq.u32 %p1, %r1, 3;\n@!%p1 bra AGAIN;"), "3");
  EXPECT_EQ(need_of("ld.acquire.sys.global.u32 %r1, [%rd0];\nsetp.eq.u32 %p1, %r1, 3;\nnot.pred %p2, %p1;\n"
                    "@%p2 bra AGAIN;"),
            "3");
}

TEST(FindNeed, FollowsABranchOutOfTheLoop) {
  EXPECT_EQ(
      need_of("ld.acquire.sys.global.u32 %r1, [%rd0];\nsetp.eq.u32 %p1, %r1, 4;\n@%p1 bra OUT;\nbra AGAIN;\nOUT:"),
      "4");
}

TEST(FindNeed, FollowsMovesAndDifferences) {
  EXPECT_EQ(need_of("ld.acquire.sys.global.u32 %r1, [%rd0];\nmov.u32 %r2, %r1;\nsub.s32 %r3, %r2, 6;\n"
                    "setp.ne.s32 %p1, %r3, 0;\n@%p1 bra AGAIN;"),
            "6");
}

TEST(FindNeed, MirrorsAComparisonWithTheNumberInFront) {
  EXPECT_EQ(need_of("mov.u32 %r4, 9;\nld.acquire.sys.global.u32 %r1, [%rd0];\nsetp.gt.u32 %p1, %r4, %r1;\n"
                    "@%p1 bra AGAIN;"),
            ">= 9");
}

TEST(FindNeed, FollowsAMask) {
  EXPECT_EQ(need_of("ld.acquire.sys.global.u32 %r1, [%rd0];\nand.b32 %r2, %r1, 16;\nsetp.eq.u32 %p1, %r2, 0;\n"
                    "@%p1 bra AGAIN;"),
            "value & 0x10 to be other than 0");
}

TEST(FindNeed, TakesAnotherWordOfTheComparisonAsItIsNow) {
  EXPECT_EQ(need_of("ld.acquire.sys.global.u32 %r1, [%rd0];\nld.acquire.sys.global.u32 %r2, [%rd0+4];\n"
                    "add.u32 %r2, %r2, 1;\nsetp.ne.u32 %p1, %r1, %r2;\n@%p1 bra AGAIN;"),
            "1");
}

// A number in the upper half of a word, data in the lower one.
TEST(FindNeed, FollowsTheUpperHalfOfAWord) {
  const std::string load = "ld.relaxed.sys.global.u64 %rd1, [%rd0];\n";
  EXPECT_EQ(need_of(load + "shr.u64 %rd2, %rd1, 32;\nsetp.ne.s64 %p1, %rd2, 3;\n@%p1 bra AGAIN;"), "3");
  EXPECT_EQ(need_of(load + "mov.b64 {%r1, %r2}, %rd1;\nsetp.lt.u32 %p1, %r2, 3;\n@%p1 bra AGAIN;"), ">= 3");
  EXPECT_EQ(need_of(load + "shr.u64 %rd2, %rd1, 31;\nsetp.ne.s64 %p1, %rd2, 3;\n@%p1 bra AGAIN;"), "");
}

TEST(Need, ShowsThePartThatIsCompared) {
  const Need need{.relation = Relation::equal, .offset = 4, .bits = 64, .value = 2};
  EXPECT_EQ(need.part(uint64_t{7} << 32 | 5), 7u);
  EXPECT_EQ(need.number(), 2u);
}

TEST(FindNeed, SaysNothingOfAProduct) {
  EXPECT_EQ(need_of("ld.acquire.sys.global.u32 %r1, [%rd0];\nmul.lo.u32 %r2, %r1, 3;\nsetp.ne.u32 %p1, %r2, 9;\n"
                    "@%p1 bra AGAIN;"),
            "");
}

}  // namespace
}  // namespace fb::machine
