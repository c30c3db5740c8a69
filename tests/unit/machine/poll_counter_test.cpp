#include "virtual_node/machine/engine/poll_counter.h"

#include <gtest/gtest.h>

namespace fb::machine {
namespace {

TEST(PollCounter, ReportsTwiceAsRarelyEachTimeAndAnewAfterProgress) {
  PollCounter polls;
  polls.note_warp(4095, false);
  EXPECT_FALSE(polls.take_report(1));
  polls.note_warp(1, false);
  EXPECT_FALSE(polls.take_report(1)) << "a warp is given some polls before";
  polls.note_warp(64, false);
  EXPECT_TRUE(polls.take_report(1));
  EXPECT_FALSE(polls.is_report_due());
  polls.note_warp(4160, false);
  EXPECT_TRUE(polls.take_report(1));
  polls.note_progress();
  polls.note_warp(4095, false);
  EXPECT_FALSE(polls.is_report_due());
  EXPECT_EQ(polls.polled(), 4095 + 1 + 64 + 4160 + 4095);
}

TEST(PollCounter, AQuestionOfAHostIsAPollAlone) {
  PollCounter polls;
  EXPECT_FALSE(polls.alone());
  polls.note_host();
  EXPECT_TRUE(polls.alone());
  EXPECT_EQ(polls.polled(), 0) << "no warp has polled";
  polls.note_progress();
  EXPECT_FALSE(polls.alone());
}

TEST(PollCounter, PollsAreInVainWhenNothingHasStirredForLongEnoughForAllWarps) {
  PollCounter polls;
  polls.note_warp(4'000'000, false);
  EXPECT_TRUE(polls.may_be_in_vain());
  EXPECT_FALSE(polls.in_vain(2));
  polls.note_warp(32'000, false);
  EXPECT_TRUE(polls.in_vain(2));
  EXPECT_FALSE(polls.in_vain(3));
  polls.note_warp(1, true);
  EXPECT_FALSE(polls.may_be_in_vain());
}

TEST(PollCounter, AfterTimeHasPassedOneRoundOfPollsIsEnough) {
  PollCounter polls;
  polls.note_time(2);
  EXPECT_FALSE(polls.in_vain(2));
  polls.note_warp(4096 + 2 * 64, false);
  EXPECT_TRUE(polls.in_vain(2));
  EXPECT_FALSE(polls.take_report(100)) << "more warps need more polls";
}

}  // namespace
}  // namespace fb::machine
