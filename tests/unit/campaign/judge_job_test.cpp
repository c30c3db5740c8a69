#include "campaign/judge_job.h"

#include <gtest/gtest.h>

#include "campaign/verdict_cache.h"
#include "scratch_folder.h"

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

catalog::Pack pack_of_one() {
  catalog::Pack pack;
  pack.name = "a";
  pack.version = "1";
  pack.problems.emplace_back();
  pack.problems.front().name = "push_copy";
  pack.problems.front().hash = "aa";
  pack.problems.front().platform = "h100x8";
  return pack;
}

TEST(VerdictCache, TellsJudgementsApart) {
  const JudgeJob job = whole();
  const catalog::Pack pack = pack_of_one();
  const std::string key = VerdictCache::key(job, pack, "code");
  EXPECT_EQ(key, VerdictCache::key(job, pack, "code"));
  EXPECT_NE(key, VerdictCache::key(job, pack, "other code"));
  const auto differs = [&](auto change) {
    JudgeJob other = job;
    change(other);
    return VerdictCache::key(other, pack, "code") != key;
  };
  EXPECT_TRUE(differs([](JudgeJob& j) { j.seed = 1; }));
  EXPECT_TRUE(differs([](JudgeJob& j) { j.platform = "h100x8"; })) << "other values";
  EXPECT_TRUE(differs([](JudgeJob& j) { j.platform.clear(); })) << "the problem's own";
  EXPECT_TRUE(differs([](JudgeJob& j) { j.thoroughness = "full"; }));
  EXPECT_TRUE(differs([](JudgeJob& j) { j.backend = "virtual"; }));
  EXPECT_TRUE(differs([](JudgeJob& j) { j.use_sandbox = true; }));
  // Where the pack lies and how much is done at once makes no difference.
  EXPECT_FALSE(differs([](JudgeJob& j) { j.problems = "/elsewhere"; }));
  EXPECT_FALSE(differs([](JudgeJob& j) { j.side_by_side = 1; }));
  const auto in_pack = [&](auto change) {
    catalog::Pack other = pack;
    change(other);
    return VerdictCache::key(job, other, "code") != key;
  };
  EXPECT_TRUE(in_pack([](catalog::Pack& p) { p.problems.front().hash = "bb"; }));
  EXPECT_TRUE(in_pack([](catalog::Pack& p) { p.name = "b"; }));
  EXPECT_TRUE(in_pack([](catalog::Pack& p) { p.version = "2"; }));
}

TEST(VerdictCache, KeepsNoFailuresOfOursAndNoPassWithoutItsSpeed) {
  const ScratchFolder folder;
  VerdictCache cache(toolchain::Cache(folder.path()));
  record::Verdict verdict;
  const auto is_kept = [&](const char* key) {
    cache.put(key, verdict);
    return cache.get(key).has_value();
  };
  verdict.verdict = record::VerdictClass::infra;
  EXPECT_FALSE(is_kept("infra"));
  verdict.verdict = record::VerdictClass::pass;
  EXPECT_TRUE(is_kept("quick: nothing was timed"));
  verdict.timings = {{.size = "large", .world = 8, .seconds = 1e-6}};
  EXPECT_FALSE(is_kept("times without speed"));
  verdict.speed = 1.0;
  EXPECT_TRUE(is_kept("speed"));
}

}  // namespace
}  // namespace fb::campaign
