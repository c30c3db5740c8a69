#include "campaign/slurm_commands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "common/base/strings.h"

namespace fb::campaign {
namespace {

// Printed by squeue 22.05 of a cluster of four nodes.
std::vector<QueuedTask> recorded(const std::string& name) {
  const auto tasks = parse_queue(read_file(FB_SOURCE_DIR "/tests/unit/campaign/slurm/" + name + ".txt"));
  EXPECT_TRUE(tasks.has_value());
  return tasks.value_or(std::vector<QueuedTask>());
}

const QueuedTask& task(const std::vector<QueuedTask>& tasks, uint64_t job, uint32_t index) {
  const auto found =
      std::ranges::find_if(tasks, [&](const QueuedTask& each) { return each.job == job && each.task == index; });
  if (found == tasks.end()) throw std::out_of_range("no such task");
  return *found;
}

TEST(SlurmQueue, RunningWaitingAndFailedTasksAreTold) {
  const auto tasks = recorded("mixed");
  ASSERT_EQ(tasks.size(), 7u) << "a job that is no array is left out";
  EXPECT_EQ(task(tasks, 1, 5), (QueuedTask{1, 5, "RUNNING", "n1", "None", "000001"}));
  EXPECT_EQ(task(tasks, 1, 6), (QueuedTask{1, 6, "PENDING", "", "Resources", "000001"}));
  EXPECT_EQ(task(tasks, 1, 1), (QueuedTask{1, 1, "FAILED", "n1", "NonZeroExitCode", "000001"}));
  EXPECT_EQ(phase_of(task(tasks, 1, 5)), TaskPhase::runs);
  EXPECT_EQ(phase_of(task(tasks, 1, 6)), TaskPhase::waits);
  EXPECT_EQ(phase_of(task(tasks, 1, 1)), TaskPhase::ended);
}

TEST(SlurmQueue, ATaskOfALostNodeWaitsForItsSecondBegin) {
  const auto tasks = recorded("requeued");
  EXPECT_EQ(task(tasks, 1, 5).reason, "BeginTime");
  EXPECT_EQ(phase_of(task(tasks, 1, 5)), TaskPhase::waits);
  EXPECT_TRUE(ended_well(task(tasks, 1, 6).state));
}

TEST(SlurmQueue, ReasonsAreSentencesAndCommentsMayHoldTheSeparator) {
  const auto tasks = recorded("drained");
  EXPECT_EQ(phase_of(task(tasks, 9, 1)), TaskPhase::waits) << "nodes come back";
  EXPECT_EQ(task(tasks, 9, 1).batch, "a|b");
  EXPECT_TRUE(task(tasks, 9, 1).reason.starts_with("Nodes required for job are DOWN, DRAINED"));
}

TEST(SlurmQueue, ATaskThatCouldNotBeLaunchedIsStuck) {
  const auto tasks = recorded("held");
  EXPECT_EQ(phase_of(task(tasks, 1, 5)), TaskPhase::waits);
  EXPECT_EQ(phase_of(task(tasks, 1, 1)), TaskPhase::stuck);
}

TEST(SlurmQueue, NoTasksIsNoError) {
  EXPECT_EQ(parse_queue("").value().size(), 0u);
  EXPECT_EQ(parse_queue("\n").value().size(), 0u);
}

TEST(SlurmQueue, WhatIsNoTaskIsAnErrorThatQuotesIt) {
  for (const std::string bad : {"1|2|RUNNING", "x|2|RUNNING|n1|None|b", "1|2x|RUNNING|n1|None|b", "1|2||n1|None|b",
                                "99999999999999999999|1|RUNNING|n1|None|b", "1|-1|RUNNING|n1|None|b"}) {
    const auto tasks = parse_queue("1|1|RUNNING|n1|None|b\n" + bad + "\n");
    ASSERT_FALSE(tasks.has_value()) << bad;
    EXPECT_EQ(tasks.error().list.front().at.line, 2u);
    EXPECT_TRUE(tasks.error().list.front().message.contains(bad));
  }
}

TEST(SlurmQueue, EveryStateHasAPhase) {
  const auto phase = [](const std::string& state, const std::string& reason = "None") {
    return phase_of({.state = state, .reason = reason});
  };
  for (const auto* state : {"COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "BOOT_FAIL", "DEADLINE",
                            "PREEMPTED", "REVOKED", "OUT_OF_MEMORY"}) {
    EXPECT_EQ(phase(state), TaskPhase::ended) << state;
  }
  for (const auto* state : {"RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT",
                            "A_STATE_OF_A_LATER_SLURM"}) {
    EXPECT_EQ(phase(state), TaskPhase::runs) << state;
  }
  EXPECT_EQ(phase("REQUEUED"), TaskPhase::waits);
  EXPECT_EQ(phase("PENDING", "JobHeldUser"), TaskPhase::waits) << "a user has held it";
  EXPECT_EQ(phase("PENDING", "launch failed requeued held"), TaskPhase::stuck);
  EXPECT_EQ(phase("REQUEUE_HOLD"), TaskPhase::stuck);
  EXPECT_FALSE(ended_well("FAILED"));
}

TEST(SlurmSubmission, TheNumberOfTheJobIsRead) {
  EXPECT_EQ(parse_submitted("21\n").value(), 21u);
  EXPECT_EQ(parse_submitted("21;cluster\n").value(), 21u);
  EXPECT_EQ(parse_submitted("a site's greeting\n\n4294967295\n").value(), 4294967295u);
  for (const auto* bad : {"", "\n", "Submitted batch job 21", "0", "-1", ";cluster", "21 22"}) {
    EXPECT_FALSE(parse_submitted(bad).has_value()) << bad;
  }
}

TEST(SlurmSubmission, OwnOptionsComeAfterTheUsers) {
  const auto command = submit_command("/usr/bin/sbatch", {.name = "fabricbench-1",
                                                          .batch = "000007",
                                                          .folder = "/run/100%/slurm/000007",
                                                          .run = "/run/100%",
                                                          .script = "/run/100%/slurm/000007/script",
                                                          .tasks = 12,
                                                          .cpus = 2,
                                                          .options = {"--partition=short", "--array=1-3"}});
  const auto position = [&](const std::string& word) { return std::ranges::find(command, word) - command.begin(); };
  const auto end = static_cast<ptrdiff_t>(command.size());
  EXPECT_EQ(command.front(), "/usr/bin/sbatch");
  EXPECT_EQ(command.back(), "/run/100%/slurm/000007/script");
  for (const auto* word :
       {"--parsable", "--requeue", "--job-name=fabricbench-1", "--comment=000007", "--cpus-per-task=2",
        "--chdir=/run/100%", "--output=/run/100%%/slurm/000007/%a.out", "--array=1-12"}) {
    EXPECT_LT(position(word), end) << word;
    EXPECT_LT(position("--partition=short"), position(word)) << word;
  }
  EXPECT_LT(position("--array=1-3"), position("--array=1-12"));
}

TEST(SlurmSubmission, TheScriptSurvivesStrangePaths) {
  EXPECT_EQ(batch_script({"/opt/it's/fabricbench", "worker"}, "/run of $HOME/slurm/000001"),
            "#!/bin/sh\nexec '/opt/it'\\''s/fabricbench' 'worker' --list '/run of "
            "$HOME/slurm/000001'/\"$SLURM_ARRAY_TASK_ID\".list\n");
}

TEST(SlurmOptionsText, WordsAreSeparatedAsAShellDoes) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(split_words("").value(), Words());
  EXPECT_EQ(split_words("  --partition=short\t--time 10 ").value(), (Words{"--partition=short", "--time", "10"}));
  EXPECT_EQ(split_words("--comment='two words' -C\"a&b\" ''").value(), (Words{"--comment=two words", "-Ca&b", ""}));
  EXPECT_FALSE(split_words("--comment='two words").has_value());
}

TEST(SlurmEnvironment, KeysStayHere) {
  const char* environment[] = {"PATH=/bin",
                               "OPENAI_API_KEY=secret",
                               "SLURM_CONF=/x/slurm.conf",
                               "SBATCH_PARTITION=short",
                               "FABRICBENCH_CACHE=/c",
                               "FABRICBENCH_API_KEY=secret",
                               "SOMETHING=secret",
                               "SLURM_JOB_ID=7",
                               "SQUEUE_FORMAT=%i",
                               "XDG_CACHE_HOME=/h",
                               nullptr};
  EXPECT_EQ(slurm_environment(environment),
            (std::vector<std::string>{"PATH=/bin", "SLURM_CONF=/x/slurm.conf", "SBATCH_PARTITION=short",
                                      "FABRICBENCH_CACHE=/c", "XDG_CACHE_HOME=/h"}));
}

}  // namespace
}  // namespace fb::campaign
