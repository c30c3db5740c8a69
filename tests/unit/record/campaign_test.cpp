#include "common/record/campaign.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "common/base/strings.h"

namespace fb::record {
namespace {

namespace fs = std::filesystem;

CampaignPlan whole() {
  return {.name = "autumn",
          .created = "2026-11-15T10:00:00Z",
          .models = {{.label = "b", .provider = "command", .model = "./b"}, {.label = "a", .provider = "openai"}},
          .problems = {"push_copy", "all_to_all"},
          .pack = "fabricbench",
          .pack_version = "0.1.0",
          .samples = 2,
          .rounds = 3,
          .speed_rounds = 1,
          .prompt = "few_shot",
          .thoroughness = "quick",
          .backend = "cuda",
          .platform = "b300x8",
          .seed = ~uint64_t{0} - 1,
          .version = "9.9"};
}

class RunFolder : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/fb_run_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    write_file(plan_file(folder_), to_json(whole()));
  }
  void TearDown() override { fs::remove_all(folder_); }

  void add(const RoundId& id) const {
    Attempt a;
    a.model = id.model;
    a.problem = id.problem;
    a.sample = id.sample;
    a.round = id.round;
    fs::create_directories(sample_folder(folder_, id));
    write_file(round_file(folder_, id, "attempt.json"), to_json(a));
  }

  std::string folder_;
};

TEST(CampaignPlan, SurvivesJson) {
  const auto again = parse_campaign_plan(to_json(whole()));
  ASSERT_TRUE(again) << to_string(again.error(), "plan");
  EXPECT_EQ(*again, whole());
}

TEST(CampaignPlan, RefusesALabelThatIsNoName) {
  CampaignPlan plan = whole();
  plan.models.front().label = "../b";
  EXPECT_FALSE(parse_campaign_plan(to_json(plan)));
}

TEST_F(RunFolder, IsReadInThePlansOrder) {
  add({"a", "all_to_all", 1, 1});
  add({"b", "push_copy", 2, 1});
  for (uint32_t round = 11; round > 0; --round) add({"b", "push_copy", 1, round});
  add({"b", "push_copy", 3, 1});  // more samples than planned: not this campaign's
  fs::create_directories(folder_ + "/problems");
  write_file(problem_file(folder_, "all_to_all"), "{}");
  const auto run = read_run(folder_);
  ASSERT_TRUE(run) << to_string(run.error(), "");
  EXPECT_EQ(run->problems, (std::vector<std::string>{"", "{}"}));
  ASSERT_EQ(run->attempts.size(), 13u);
  for (uint32_t round = 1; round <= 11; ++round) EXPECT_EQ(run->attempts[round - 1].round, round);
  EXPECT_EQ(run->attempts[11].sample, 2u);
  EXPECT_EQ(run->attempts[12].model, "a");
}

TEST_F(RunFolder, ADamagedRecordIsNamed) {
  const RoundId id{"a", "push_copy", 1, 1};
  add(id);
  write_file(round_file(folder_, id, "attempt.json"), "{\"model\":");
  const auto run = read_run(folder_);
  ASSERT_FALSE(run);
  EXPECT_NE(to_string(run.error(), "").find("samples/a/push_copy/1/1.attempt.json"), std::string::npos);
}

TEST_F(RunFolder, AnotherFolderIsNamed) {
  const auto missing = read_run(folder_ + "/problems");
  ASSERT_FALSE(missing);
  EXPECT_NE(to_string(missing.error(), "").find("there is no folder"), std::string::npos);
  std::filesystem::create_directories(folder_ + "/problems");
  const auto run = read_run(folder_ + "/problems");
  ASSERT_FALSE(run);
  EXPECT_NE(to_string(run.error(), "").find("it has no campaign.json"), std::string::npos);
}

TEST_F(RunFolder, WhatWasMeantInsteadIsSaid) {
  const auto said = [](const std::string& folder) { return to_string(read_run(folder).error(), ""); };
  EXPECT_TRUE(said(folder_ + "/nothing").contains("there is no folder")) << said(folder_ + "/nothing");
  EXPECT_TRUE(said(plan_file(folder_)).contains("is a file, and a run is a folder")) << said(plan_file(folder_));
  // The folder that holds runs.
  std::filesystem::create_directories(folder_ + "/more/monday");
  write_file(plan_file(folder_ + "/more/monday"), "{}");
  EXPECT_TRUE(said(folder_ + "/more").contains("did you mean " + folder_ + "/more/monday?")) << said(folder_ + "/more");
}

}  // namespace
}  // namespace fb::record
