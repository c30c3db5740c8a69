#include "campaign/sample.h"

#include "campaign/judge_job.h"
#include "common/base/strings.h"
#include "run_folder.h"

namespace fb::campaign {
namespace {

class SampleFolder : public RunFolder {
 protected:
  void SetUp() override {
    RunFolder::SetUp();
    plan_.models = {{.label = "m"}};
    plan_.problems = {"p"};
    plan_.rounds = 2;
    std::filesystem::create_directories(sample_folder(folder_, id_));
  }

  void write(uint32_t round, const char* kind, const std::string& text) {
    record::RoundId id = id_;
    id.round = round;
    write_file(round_file(folder_, id, kind), text);
  }
  void request(uint32_t round) { write(round, "request.json", to_json(llm::Request{})); }
  void response(uint32_t round, record::AnswerEnd end, double usd) {
    llm::Response r;
    r.call.end = end;
    r.call.usd = usd;
    write(round, "response.json", to_json(r));
  }
  void attempt(uint32_t round, bool passes, double usd) {
    record::Attempt a;
    a.model = "m";
    a.problem = "p";
    a.round = round;
    a.call = {.end = record::AnswerEnd::complete, .usd = usd};
    a.verdict = record::Verdict{};
    a.verdict->verdict = passes ? record::VerdictClass::pass : record::VerdictClass::wrong;
    write(round, "attempt.json", to_json(a));
  }
  Standing standing() {
    auto found = look_at(folder_, plan_, id_);
    EXPECT_TRUE(found) << to_string(found.error(), "");
    return *found;
  }

  record::CampaignPlan plan_;
  record::RoundId id_{.model = "m", .problem = "p", .sample = 1, .round = 1};
};

TEST_F(SampleFolder, TellsWhatTheRoundNeeds) {
  EXPECT_EQ(standing().need, Need::request);
  request(1);
  EXPECT_EQ(standing().need, Need::call);
  response(1, record::AnswerEnd::complete, 0.5);
  EXPECT_EQ(standing().need, Need::verdict);
  EXPECT_EQ(standing().usd, 0.5);
  write(1, "verdict.json", to_json(Judged{}));
  EXPECT_EQ(standing().need, Need::record);
  attempt(1, false, 0.5);
  EXPECT_EQ(standing().need, Need::request);
  EXPECT_EQ(standing().round.round, 2u);
  EXPECT_EQ(standing().usd, 0.5);
  EXPECT_EQ(standing().previous->round, 1u);
}

TEST_F(SampleFolder, WhatIsNoCodeIsNotJudged) {
  for (const auto end : {record::AnswerEnd::truncated, record::AnswerEnd::refused, record::AnswerEnd::empty}) {
    request(1);
    response(1, end, 0);
    EXPECT_EQ(standing().need, Need::record) << to_string(end);
  }
}

TEST_F(SampleFolder, IsDoneAfterItsRounds) {
  attempt(1, false, 1);
  attempt(2, false, 2);
  EXPECT_EQ(standing().need, Need::nothing);
  EXPECT_FALSE(standing().passed);
  EXPECT_EQ(standing().usd, 3);
}

TEST_F(SampleFolder, IsDoneWithAPass) {
  attempt(1, true, 1);
  EXPECT_EQ(standing().need, Need::nothing);
  EXPECT_TRUE(standing().passed);
}

TEST_F(SampleFolder, GoesOnForSpeed) {
  plan_.speed_rounds = 2;
  attempt(1, false, 1);
  EXPECT_FALSE(standing().for_speed);
  attempt(2, true, 1);
  EXPECT_EQ(standing().round.round, 3u);
  EXPECT_TRUE(standing().for_speed);
  attempt(3, true, 1);  // a second pass gives no more rounds
  attempt(4, false, 1);
  EXPECT_EQ(standing().need, Need::nothing);
}

TEST_F(SampleFolder, NamesAFileThatIsDamaged) {
  write(1, "attempt.json", "{");
  const auto found = look_at(folder_, plan_, id_);
  ASSERT_FALSE(found);
  EXPECT_NE(to_string(found.error(), "").find("samples/m/p/1/1.attempt.json"), std::string::npos);
}

}  // namespace
}  // namespace fb::campaign
