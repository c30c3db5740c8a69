#include "campaign/slurm_ledger.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace fb::campaign {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A ledger with a clock that is set by hand and verdicts that are put down by hand.
class Ledger : public testing::Test {
 protected:
  SlurmLedger::Time at(double second) const { return start_ + milliseconds(static_cast<int64_t>(second * 1000)); }

  void add(size_t count, double second, const std::string& prefix = "job") {
    for (size_t k = 0; k < count; ++k) ledger_.add(fmt::format("{}{}", prefix, k), at(second));
  }
  // A batch that is accepted as this job.
  SlurmLedger::Batch submit(const std::string& name, uint64_t job, double second) {
    auto batch = ledger_.next_batch(name, at(second));
    EXPECT_TRUE(batch.has_value()) << name;
    if (!batch) return {};
    ledger_.submitted(name, job, at(second));
    return *batch;
  }
  SlurmLedger::Settled settle(double second) {
    return ledger_.settle(at(second), [this](const std::string& job) { return verdicts_.contains(job); });
  }
  static QueuedTask task(uint64_t job, uint32_t index, const std::string& state, const std::string& batch = "b1",
                         const std::string& reason = "None") {
    return {job, index, state, state == "PENDING" ? "" : "n1", reason, batch};
  }

  SlurmLedger::Time start_ = SlurmLedger::Time(std::chrono::hours(1));
  SlurmLedger ledger_ = SlurmLedger({.batch = 4, .tasks = 3});
  std::set<std::string> verdicts_;
};

TEST_F(Ledger, ALoneJobWaitsForOthersButNotForLong) {
  add(1, 0);
  EXPECT_FALSE(ledger_.next_batch("b1", at(0.1)).has_value());
  EXPECT_EQ(ledger_.next_time(), at(0.3));
  const auto batch = ledger_.next_batch("b1", at(0.3));
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->tasks, (std::vector<std::vector<std::string>>{{"job0"}}));
}

TEST_F(Ledger, JobsAreSpreadOverTheTasksThatThereIsRoomFor) {
  add(5, 0);
  EXPECT_EQ(submit("b1", 7, 1).tasks,
            (std::vector<std::vector<std::string>>{{"job0", "job1"}, {"job2", "job3"}, {"job4"}}));
  EXPECT_EQ(ledger_.live_tasks(), 3u);
  add(1, 1, "more");
  EXPECT_FALSE(ledger_.next_batch("b2", at(9)).has_value()) << "there is no room";
}

TEST_F(Ledger, TasksAreNeverLargerThanABatchAndEnoughJobsNeedNotWait) {
  add(20, 0);
  const auto batch = ledger_.next_batch("b1", at(0));
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->tasks.size(), 3u);
  for (const auto& files : batch->tasks) EXPECT_EQ(files.size(), 4u);
  EXPECT_FALSE(ledger_.next_batch("b2", at(9)).has_value()) << "the fate of the first is not known";
}

TEST_F(Ledger, VerdictsAreTakenWhileTheirTaskRuns) {
  ledger_ = SlurmLedger({.batch = 4, .tasks = 1});
  add(2, 0);
  submit("b1", 7, 1);
  verdicts_ = {"job0"};
  EXPECT_TRUE(settle(1).done.empty()) << "a task that has not begun is not looked at";
  ledger_.see_queue({task(7, 1, "RUNNING")}, at(2));
  const auto first = settle(2).done;
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].job_file, "job0");
  EXPECT_EQ(first[0].failure, "");
  EXPECT_EQ(ledger_.live_tasks(), 1u);
  verdicts_ = {"job0", "job1"};
  ledger_.see_queue({task(7, 1, "COMPLETED")}, at(3));
  ASSERT_EQ(settle(3).done.size(), 1u);
  EXPECT_EQ(ledger_.live_tasks(), 0u);
}

TEST_F(Ledger, ATaskThatSlurmStartsAgainIsWaitedFor) {
  add(1, 0);
  submit("b1", 7, 1);
  ledger_.see_queue({task(7, 1, "RUNNING")}, at(2));
  ledger_.see_queue({task(7, 1, "PENDING", "b1", "BeginTime")}, at(20));
  EXPECT_TRUE(settle(500).done.empty());
  EXPECT_FALSE(ledger_.next_batch("b2", at(500)).has_value());
  ledger_.see_queue({task(7, 1, "RUNNING")}, at(501));
  verdicts_ = {"job0"};
  EXPECT_EQ(settle(502).done.size(), 1u);
}

TEST_F(Ledger, WhatALostTaskLeftUndoneIsDoneAgainEachAlone) {
  add(12, 0);
  submit("b1", 7, 1);
  verdicts_ = {"job0", "job4", "job5", "job6", "job7"};
  // The first has failed after one verdict, the second ended well, the third is gone altogether.
  ledger_.see_queue({task(7, 1, "FAILED", "b1", "NonZeroExitCode"), task(7, 2, "COMPLETED")}, at(2));
  EXPECT_EQ(settle(2).done.size(), 5u);
  EXPECT_EQ(ledger_.live_tasks(), 2u) << "verdicts may come late";
  EXPECT_FALSE(ledger_.next_batch("b2", at(6)).has_value());
  const auto settled = settle(8);
  EXPECT_TRUE(settled.done.empty());
  EXPECT_EQ(settled.troubles,
            (std::vector<std::string>{
                "Slurm job 7_1 on n1 ended as FAILED (NonZeroExitCode), 3 of its judgements are missing",
                "Slurm job 7_3 is no longer known, 4 of its judgements are missing"}));
  EXPECT_EQ(submit("b2", 8, 8).tasks, (std::vector<std::vector<std::string>>{{"job1"}, {"job2"}, {"job3"}}));
}

TEST_F(Ledger, ATaskThatEndedWellIsBelievedForLonger) {
  add(1, 0);
  submit("b1", 7, 1);
  ledger_.see_queue({task(7, 1, "COMPLETED")}, at(2));
  EXPECT_TRUE(settle(50).troubles.empty());
  verdicts_ = {"job0"};
  EXPECT_EQ(settle(51).done.size(), 1u);
}

TEST_F(Ledger, AJobIsGivenUpAfterThreeTriesAndSaysWhere) {
  ledger_.tail_of_output = [](const std::string& batch, uint32_t index) {
    return fmt::format("; see {}/{}", batch, index);
  };
  add(1, 0);
  double second = 1;
  for (uint64_t attempt = 1; attempt <= 3; ++attempt) {
    const std::string name = fmt::format("b{}", attempt);
    submit(name, attempt, second);
    ledger_.see_queue({task(attempt, 1, "TIMEOUT", name, "TimeLimit")}, at(second + 1));
    const auto settled = settle(second + 10);
    EXPECT_EQ(settled.done.size(), attempt == 3 ? 1u : 0u);
    if (attempt == 3) {
      EXPECT_EQ(settled.done.at(0).failure,
                "no verdict after 3 tries: Slurm job 3_1 on n1 ended as TIMEOUT (TimeLimit); see b3/1");
    }
    second += 20;
  }
  EXPECT_FALSE(ledger_.next_batch("b4", at(1000)).has_value());
}

TEST_F(Ledger, ATaskThatSlurmHoldsForeverIsCancelledAndDoneAgain) {
  add(1, 0);
  submit("b1", 7, 1);
  ledger_.see_queue({task(7, 1, "PENDING", "b1", "launch failed requeued held")}, at(2));
  const auto settled = settle(8);
  EXPECT_EQ(settled.cancel, std::vector<std::string>{"7_1"});
  EXPECT_EQ(submit("b2", 8, 9).tasks.size(), 1u);
}

TEST_F(Ledger, AQueueThatWasAskedForBeforeTheJobWasThereSaysNothingAboutIt) {
  add(1, 0);
  submit("b1", 7, 1);
  ledger_.see_queue({}, at(0.9));
  EXPECT_TRUE(settle(100).troubles.empty());
  ledger_.see_queue({}, at(1.1));
  EXPECT_EQ(settle(100).troubles.size(), 1u);
}

TEST_F(Ledger, AFailedSubmissionMayHaveWorked) {
  add(2, 0);
  ASSERT_TRUE(ledger_.next_batch("b1", at(1)).has_value());
  ledger_.unclear("b1", at(2));
  ledger_.see_queue({}, at(1.5));
  EXPECT_TRUE(ledger_.is_submitting()) << "that queue is too old to tell";
  ledger_.see_queue({task(7, 1, "RUNNING"), task(7, 2, "RUNNING")}, at(3));
  EXPECT_FALSE(ledger_.is_submitting());
  EXPECT_EQ(ledger_.live_tasks(), 2u);
  verdicts_ = {"job0", "job1"};
  EXPECT_EQ(settle(4).done.size(), 2u);
}

TEST_F(Ledger, AFailedSubmissionIsMadeAgainInTheSameOrder) {
  add(3, 0);
  const auto first = ledger_.next_batch("b1", at(1));
  ledger_.unclear("b1", at(2));
  add(1, 2, "later");
  ledger_.see_queue({}, at(3));
  EXPECT_EQ(ledger_.live_tasks(), 0u);
  const auto second = ledger_.next_batch("b2", at(4));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(second->tasks, (std::vector<std::vector<std::string>>{{"job0", "job1"}, {"job2", "later0"}}));
}

TEST_F(Ledger, TellsWhyNothingRuns) {
  add(2, 0);
  submit("b1", 7, 1);
  EXPECT_EQ(ledger_.why_nothing_runs(), "") << "the queue was not read yet";
  ledger_.see_queue({task(7, 1, "PENDING", "b1", "None"), task(7, 2, "PENDING", "b1", "Resources")}, at(2));
  EXPECT_EQ(ledger_.why_nothing_runs(), "Resources");
  ledger_.see_queue({task(7, 1, "RUNNING"), task(7, 2, "PENDING", "b1", "Resources")}, at(3));
  EXPECT_EQ(ledger_.why_nothing_runs(), "");
}

TEST_F(Ledger, TasksOfAFormerLifeAreWaitedFor) {
  ledger_.found(task(5, 2, "RUNNING", "b9"), {"job0", "job1"});
  ledger_.add("job1", at(0));
  ledger_.add("job2", at(0));
  EXPECT_EQ(submit("b10", 6, 1).tasks, (std::vector<std::vector<std::string>>{{"job2"}}));
  ledger_.see_queue({task(5, 2, "RUNNING", "b9"), task(6, 1, "PENDING", "b10")}, at(2));
  verdicts_ = {"job0", "job1"};
  const auto done = settle(3).done;
  ASSERT_EQ(done.size(), 1u) << "job0 was not asked for since the restart";
  EXPECT_EQ(done[0].job_file, "job1");
}

TEST_F(Ledger, TasksThatNobodyWantsTakeNoRoom) {
  for (uint32_t index = 1; index <= 3; ++index)
    ledger_.found(task(5, index, "RUNNING", "b9"), {fmt::format("other{}", index)});
  EXPECT_EQ(ledger_.live_tasks(), 0u);
  add(3, 0);
  EXPECT_EQ(submit("b10", 6, 1).tasks.size(), 3u);
  EXPECT_EQ(ledger_.live_batches(), std::set<std::string>{"b10"});
  ledger_.add("other2", at(2));
  EXPECT_EQ(ledger_.live_batches(), (std::set<std::string>{"b10", "b9"}));
  EXPECT_EQ(ledger_.live_tasks(), 4u);
}

TEST_F(Ledger, ALostTaskOfAFormerLifeLeavesOnlyWhatIsWanted) {
  ledger_.found(task(5, 2, "RUNNING", "b9"), {"job0", "job1"});
  ledger_.add("job1", at(0));
  ledger_.see_queue({}, at(1));
  EXPECT_EQ(settle(10).troubles.size(), 1u);
  EXPECT_EQ(submit("b10", 6, 11).tasks, (std::vector<std::vector<std::string>>{{"job1"}}));
}

}  // namespace
}  // namespace fb::campaign
