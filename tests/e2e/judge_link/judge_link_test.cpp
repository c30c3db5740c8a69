// Whole judgements without a judge: machine, ranks and a candidate that behaves or does not.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "judge_link/judged_run.h"

namespace fb {
namespace {

using record::Ending;
using testing::HasSubstr;

std::string fatal_text(const launcher::LaunchResult& result) {
  for (const auto& incident : result.record.incidents) {
    if (incident.fatal) return incident.text;
  }
  return "";
}

TEST(JudgeLink, CallsBackToBackSeeTheirOwnInputs) {
  JudgedRun judged(4);
  ASSERT_TRUE(judged.construct(kGather, 300));
  const auto steps = judged.run(3);
  ASSERT_EQ(steps.size(), 1u);
  for (uint32_t c = 0; c < 3; ++c) EXPECT_TRUE(judged.is_gathered(c));
  ASSERT_EQ(judged.run(2).size(), 1u);
  for (uint32_t c = 0; c < 2; ++c) EXPECT_TRUE(judged.is_gathered(c));
  ASSERT_TRUE(judged.destroy());
  // Another instance in the same processes.
  ASSERT_TRUE(judged.construct(kGather, 17));
  ASSERT_EQ(judged.run(1).size(), 1u);
  EXPECT_TRUE(judged.is_gathered(0));
  ASSERT_TRUE(judged.destroy());
  const auto result = judged.finish();
  EXPECT_EQ(result.record.ending, Ending::finished);
  EXPECT_EQ(result.exit_code, 0) << result.problem;
  EXPECT_TRUE(result.record.replayable) << result.record.not_replayable_because;
  EXPECT_EQ(result.record.late_requests, 0u);
  EXPECT_EQ(result.record.calls_in_run.at("launch"), 4u * 6);
}

TEST(JudgeLink, TimesAreOfOneClock) {
  JudgedRun judged(3);
  ASSERT_TRUE(judged.construct(kGather, 100));
  const auto steps = judged.run(3);
  ASSERT_EQ(steps.size(), 1u);
  const wire::StepResult& step = steps.front();
  EXPECT_EQ(step.faults, 0u);
  for (uint32_t r = 0; r < 3; ++r) {
    EXPECT_EQ(step.of(r, 0).begun, step.begin);
    for (uint32_t c = 0; c < 3; ++c) {
      const wire::CallTimes& t = step.of(r, c);
      EXPECT_GT(t.returned, t.begun);
      EXPECT_GT(t.ended, t.returned);
      EXPECT_LE(t.ended, step.drained);
      // The host did not wait for the stream.
      if (c > 0) {
        EXPECT_EQ(t.begun, step.of(r, c - 1).returned);
        EXPECT_LT(t.begun, step.of(r, c - 1).ended);
        EXPECT_GT(t.ended, step.of(r, c - 1).ended);
      }
    }
  }
  ASSERT_TRUE(judged.destroy());
  EXPECT_EQ(judged.finish().exit_code, 0);
}

TEST(JudgeLink, StepsTellTheBytesThatMoved) {
  JudgedRun judged(3);
  ASSERT_TRUE(judged.construct(kGather, 100));
  const auto one = judged.run(1), two = judged.run(2);
  ASSERT_EQ(one.size(), 1u);
  ASSERT_EQ(two.size(), 1u);
  uint64_t out = 0, in = 0;
  ASSERT_EQ(one[0].traffic.size(), 8u) << "the devices of the platform";
  for (size_t d = 0; d < 8; ++d) {
    const wire::DeviceTraffic &once = one[0].traffic[d], &twice = two[0].traffic[d];
    out += once.peer_out;
    in += once.peer_in;
    if (d < 3) {
      // What the two others have: 100 words each, and flags.
      EXPECT_GE(std::max(once.peer_out, once.peer_in), 2u * 100 * 4);
      EXPECT_GT(once.memory, 0u);
      EXPECT_EQ(twice.memory, 2 * once.memory);
    } else {
      EXPECT_EQ(once.memory + once.peer_out + once.peer_in, 0u) << "it is not used";
    }
  }
  EXPECT_EQ(out, in);
  ASSERT_TRUE(judged.destroy());
  EXPECT_EQ(judged.finish().exit_code, 0);
}

TEST(JudgeLink, TheSameSeedTakesTheSameCourse) {
  const auto hash = [](uint64_t seed, bool confined = false) {
    JudgedRun judged(3, seed, confined);
    EXPECT_TRUE(judged.construct(kGather, 64));
    EXPECT_EQ(judged.run(3).size(), 1u);
    for (uint32_t c = 0; c < 3; ++c) EXPECT_TRUE(judged.is_gathered(c));
    EXPECT_TRUE(judged.destroy());
    const auto result = judged.finish();
    EXPECT_TRUE(result.record.replayable) << result.record.not_replayable_because;
    return result.record.event_log_hash;
  };
  EXPECT_EQ(hash(0), hash(0));
  EXPECT_EQ(hash(7), hash(7));
  EXPECT_NE(hash(7), hash(8));
  // … with or without a filter of system calls.
  EXPECT_EQ(hash(0), hash(0, true));
}

// The rank of the first fatal incident; -1 if it names none.
int fatal_rank(const launcher::LaunchResult& result) {
  for (const auto& incident : result.record.incidents) {
    if (incident.fatal) return incident.rank.value_or(-1);
  }
  return -1;
}

TEST(JudgeLink, AnExceptionIsReportedWithItsCall) {
  JudgedRun judged(2);
  ASSERT_TRUE(judged.construct(kThrowInRun, 16));
  EXPECT_TRUE(judged.run(3).empty());
  const auto result = judged.finish();
  EXPECT_EQ(result.record.ending, Ending::failed);
  EXPECT_EQ(fatal_text(result), "run, call 2 threw: not today");
  EXPECT_EQ(fatal_rank(result), 1);
}

TEST(JudgeLink, AnExceptionInAConstructorIsReportedOnOneLine) {
  JudgedRun judged(2);
  EXPECT_FALSE(judged.construct(kThrowInSetUp, 16));
  const auto result = judged.finish();
  EXPECT_EQ(fatal_text(result), "construct threw: no\\nroom");
  EXPECT_EQ(fatal_rank(result), 1);
}

TEST(JudgeLink, ARankThatEndsIsLost) {
  JudgedRun judged(2);
  ASSERT_TRUE(judged.construct(kExit, 16));
  EXPECT_TRUE(judged.run(3).empty());
  const auto result = judged.finish();
  EXPECT_EQ(result.record.ending, Ending::rank_lost);
  EXPECT_EQ(fatal_text(result), "rank 1 ended during run, call 1");
}

TEST(JudgeLink, RanksDoNotExchangeInRun) {
  JudgedRun judged(2);
  ASSERT_TRUE(judged.construct(kExchangeInRun, 16));
  ASSERT_EQ(judged.run(2).size(), 1u);
  EXPECT_TRUE(judged.is_gathered(1));
  ASSERT_TRUE(judged.destroy());
  const auto result = judged.finish();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.record.calls_in_run.at("exchange"), 2u * 2);
}

TEST(JudgeLink, ADeadlockNamesWhoHasReturnedAndWhoWaits) {
  JudgedRun judged(3);
  ASSERT_TRUE(judged.construct(kLonelySignal, 16));
  EXPECT_TRUE(judged.run(2).empty());
  const auto result = judged.finish();
  EXPECT_EQ(result.record.ending, Ending::deadlock);
  EXPECT_THAT(fatal_text(result), HasSubstr("rank 2 has returned from call 1 of run"));
  EXPECT_THAT(fatal_text(result), HasSubstr("wait_for_ever"));
}

TEST(JudgeLink, ADeadlockInAnExchangeNamesWhoIsMissing) {
  JudgedRun judged(3);
  EXPECT_FALSE(judged.construct(kLonelyGather, 16));
  const auto result = judged.finish();
  EXPECT_EQ(result.record.ending, Ending::deadlock);
  EXPECT_THAT(fatal_text(result), HasSubstr("rank 0 waits in all_gather for ranks 1, 2"));
  EXPECT_THAT(fatal_text(result), HasSubstr("rank 1 has returned from construct"));
}

TEST(JudgeLink, WorkBetweenStepsIsCountedAndHasNoEffectOnWhatWasTaken) {
  JudgedRun judged(2);
  ASSERT_TRUE(judged.construct(kWorkLater, 16));
  const auto before = judged.run(1);
  ASSERT_EQ(before.size(), 1u);
  EXPECT_EQ(before.front().late_requests, 0u);
  EXPECT_TRUE(judged.is_gathered(0));
  usleep(600'000);
  EXPECT_TRUE(judged.is_gathered(0));
  const auto after = judged.run(1);
  ASSERT_EQ(after.size(), 1u);
  EXPECT_GE(after.front().late_requests, 1u);
  ASSERT_TRUE(judged.destroy());
  const auto result = judged.finish();
  EXPECT_GE(result.record.late_requests, 1u);
  EXPECT_FALSE(result.record.replayable);
}

TEST(JudgeLink, AFaultIsCountedAndTheStepStillEnds) {
  JudgedRun judged(2);
  ASSERT_TRUE(judged.construct(kFault, 16));
  const auto steps = judged.run(2);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps.front().faults, 1u);
  ASSERT_TRUE(judged.destroy());
  EXPECT_EQ(judged.finish().record.ending, Ending::fault);
}

TEST(JudgeLink, ARankCannotFreeATensor) {
  JudgedRun judged(2);
  ASSERT_TRUE(judged.construct(kFreeInput, 16));
  ASSERT_EQ(judged.run(2).size(), 1u);
  EXPECT_TRUE(judged.is_gathered(0));
  ASSERT_TRUE(judged.destroy());
  EXPECT_EQ(judged.finish().exit_code, 0);
}

TEST(JudgeLink, RanksShareTheMachinesMemoryByDescriptorsAndNoOtherFile) {
  JudgedRun judged(3);
  ASSERT_TRUE(judged.construct(kShare, 16));
  ASSERT_TRUE(judged.destroy());
  EXPECT_EQ(judged.finish().exit_code, 0);
}

TEST(JudgeLink, AChildOfARankIsASecondProcess) {
  JudgedRun judged(2);
  ASSERT_TRUE(judged.construct(kFork, 16));
  EXPECT_TRUE(judged.run(3).empty());
  const auto result = judged.finish();
  EXPECT_EQ(result.record.ending, Ending::bad_message);
  EXPECT_EQ(fatal_text(result), "rank 1: a second process connected");
}

TEST(JudgeLink, RanksEndWhenTheJudgeLeaves) {
  JudgedRun judged(2);
  ASSERT_TRUE(judged.construct(kGather, 16));
  judged.link().interrupt();
  EXPECT_EQ(judged.finish().record.ending, Ending::interrupted);
}

}  // namespace
}  // namespace fb
