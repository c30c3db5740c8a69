#include "virtual_node/machine/process/findings.h"

#include <gtest/gtest.h>

namespace fb::machine {
namespace {

class FindingsTest : public testing::Test {
 protected:
  Findings make(uint32_t most, const std::string& suppressions = "") {
    return {most, *parse_suppressions(suppressions),
            [this](record::Incident incident) { reported_.push_back(std::move(incident)); }};
  }
  static race::Report finding(uint32_t number, const std::string& kernel, const std::string& cause = "") {
    race::Report report;
    report.id = "unordered";
    report.number = number;
    report.text = kernel;
    report.cause = cause;
    report.sites.push_back({"first", "", kernel, {}});
    return report;
  }
  void add(Findings& findings, race::Report report) {
    findings.add(record::IncidentReason::unordered_accesses, std::move(report));
  }
  std::vector<record::Incident> reported_;
};

TEST_F(FindingsTest, TheLastOfThoseThatAreWantedEndsTheRun) {
  Findings findings = make(2);
  for (uint32_t n = 0; n < 4; ++n) add(findings, finding(n, "k"));
  ASSERT_EQ(reported_.size(), 2u);
  EXPECT_FALSE(reported_[0].fatal);
  EXPECT_TRUE(reported_[1].fatal);
  record::RunRecord record;
  findings.fill(record, {5, 0, 0, 1});
  EXPECT_EQ(record.further_findings, 2u + 5 + 1);
}

TEST_F(FindingsTest, OneCauseIsReportedOnce) {
  Findings findings = make(10);
  add(findings, finding(0, "a", "flag"));
  add(findings, finding(1, "b", "flag"));
  add(findings, finding(2, "c", "another flag"));
  add(findings, finding(3, "d"));
  add(findings, finding(4, "e"));
  EXPECT_EQ(reported_.size(), 4u);
}

TEST_F(FindingsTest, ASuppressedFindingNeitherCountsNorHidesOthersOfItsCause) {
  Findings findings = make(1, "# known\nrace:function:known # why\nrace:function:unused");
  add(findings, finding(0, "known", "flag"));
  add(findings, finding(1, "new", "flag"));
  ASSERT_EQ(reported_.size(), 1u);
  EXPECT_EQ(reported_[0].text, "new");
  EXPECT_TRUE(reported_[0].fatal);
  record::RunRecord record;
  findings.fill(record, {7, 2});
  EXPECT_EQ(record.further_findings, 2u);
  const std::vector<record::SuppressionUse> uses = {{"race:function:known", 2, 8}, {"race:function:unused", 3, 0}};
  EXPECT_EQ(record.suppressions, uses);
}

}  // namespace
}  // namespace fb::machine
