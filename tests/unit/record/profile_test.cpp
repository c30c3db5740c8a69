// Where time goes, as people read it (common/record/profile.h).
#include "common/record/profile.h"

#include <gtest/gtest.h>

#include "common/record/answer_file.h"
#include "common/record/run_record.h"

namespace fb::record {
namespace {

Profile sample() {
  KernelProfile k;
  k.kernel = "transpose(float*)";
  k.launches = 2;
  k.warps = 8;
  k.longest_ns = 2000;
  k.critical = {{"/code/a.cu", 7, "bank conflict", 1200},
                {"/code/a.cu", 7, "issue", 200},
                {"/code/a.cu", 9, "memory", 500},
                {"", 0, "start", 100}};
  k.all = k.critical;
  return {{k}};
}

TEST(Profile, LinesComeByCost) {
  const auto lines = by_line(sample().kernels[0].critical);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].line, 7u);
  EXPECT_DOUBLE_EQ(lines[0].nanoseconds, 1400);
  EXPECT_EQ(lines[0].causes[0].first, "bank conflict");
  EXPECT_EQ(lines[1].line, 9u);
}

TEST(Profile, IsATableWithTheLinesOfCode) {
  const std::string text = to_text(sample(), 8, [](const std::string& file, uint32_t line) {
    return file == "/code/a.cu" && line == 7 ? "t[x][y] = v;" : "";
  });
  EXPECT_NE(text.find("transpose(float*): 2 launches, the longest 2.00 us"), std::string::npos) << text;
  EXPECT_NE(text.find(" 70 %    1.40 us  a.cu:7"), std::string::npos) << text;
  EXPECT_NE(text.find("bank conflict 60 %, issue 10 %"), std::string::npos) << text;
  EXPECT_NE(text.find("| t[x][y] = v;"), std::string::npos) << text;
  EXPECT_LT(text.find("a.cu:7"), text.find("a.cu:9")) << "the costliest first";
}

TEST(Profile, WhatIsLeftOutIsSummedUp) {
  const std::string text = to_text(sample(), 1, [](const std::string&, uint32_t) { return ""; });
  EXPECT_EQ(text.find("a.cu:9"), std::string::npos) << text;
  EXPECT_NE(text.find("600 ns  other lines"), std::string::npos) << text;
}

TEST(Profile, LinesOfTheJudgesOwnFilesAreNotTheAnswers) {
  EXPECT_TRUE(is_answer_file("solution.cu"));
  EXPECT_TRUE(is_answer_file("/candidate/answer.md"));
  EXPECT_FALSE(is_answer_file("driver.cu"));
  EXPECT_FALSE(is_answer_file("/candidate/entry.cu"));
  EXPECT_FALSE(is_answer_file("fabricbench/rank.h"));
  EXPECT_FALSE(is_answer_file(""));
}

TEST(Profile, CrossesAsJson) {
  RunRecord record;
  record.profile = sample();
  const auto read = parse_run_record(to_json(record));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->profile, record.profile);
}

TEST(Profile, EveryCauseHasWords) {
  for (size_t k = 0; k < kProfileCauses; ++k) {
    const auto cause = static_cast<ProfileCause>(k);
    EXPECT_FALSE(label_of(cause).empty());
    EXPECT_EQ(meaning_of(label_of(cause)), meaning_of(cause));
  }
  EXPECT_TRUE(meaning_of("no such cause").empty());
}

}  // namespace
}  // namespace fb::record
