#include "campaign/judge_job.h"

#include <gtest/gtest.h>

#include "campaign/verdict_cache.h"

namespace fb::campaign {
namespace {

JudgeJob whole() {
  return {.problems = "/packs/a",
          .problem = "push_copy",
          .problem_hash = "aa",
          .answer = "1.answer.md",
          .thoroughness = "quick",
          .backend = "cuda",
          .platform = "b300x8",
          .seed = ~uint64_t{0},
          .use_cache = false,
          .use_sandbox = false,
          .side_by_side = 3};
}

TEST(JudgeJob, SurvivesJson) {
  const auto again = parse_judge_job(to_json(whole()));
  ASSERT_TRUE(again) << to_string(again.error(), "");
  EXPECT_EQ(*again, whole());
}

TEST(JudgeJob, ItsVerdictStandsBesideIt) {
  EXPECT_EQ(verdict_file_of("/run/samples/m/p/1/12.job.json"), "/run/samples/m/p/1/12.verdict.json");
}

TEST(VerdictCache, TellsJudgementsApart) {
  const JudgeJob job = whole();
  const std::string key = VerdictCache::key(job, "b300x8", "code");
  EXPECT_EQ(key, VerdictCache::key(job, "b300x8", "code"));
  EXPECT_NE(key, VerdictCache::key(job, "b300x8", "other code"));
  const auto differs = [&](auto change) {
    JudgeJob other = job;
    change(other);
    return VerdictCache::key(other, "b300x8", "code") != key;
  };
  EXPECT_TRUE(differs([](JudgeJob& j) { j.seed = 1; }));
  EXPECT_TRUE(differs([](JudgeJob& j) { j.problem_hash = "bb"; }));
  EXPECT_NE(key, VerdictCache::key(job, "h100x8", "code")) << "other values";
  EXPECT_TRUE(differs([](JudgeJob& j) { j.thoroughness = "full"; }));
  EXPECT_TRUE(differs([](JudgeJob& j) { j.backend = "virtual"; }));
  EXPECT_TRUE(differs([](JudgeJob& j) { j.use_sandbox = true; }));
  // Where the pack lies and how much is done at once makes no difference.
  EXPECT_FALSE(differs([](JudgeJob& j) { j.problems = "/elsewhere"; }));
  EXPECT_FALSE(differs([](JudgeJob& j) { j.side_by_side = 1; }));
}

}  // namespace
}  // namespace fb::campaign
