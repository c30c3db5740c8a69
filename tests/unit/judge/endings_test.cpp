#include "judge/endings.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace fb::judge {
namespace {

using record::Ending;
using record::VerdictClass;

const record::Place kPlace{.size = "odd", .world = 4, .rank = -1, .call = 2, .schedule = 9};

launcher::LaunchResult ended(Ending ending, std::vector<record::Incident> incidents = {}, std::string problem = "") {
  launcher::LaunchResult result;
  result.record.ending = ending;
  result.record.incidents = std::move(incidents);
  result.problem = std::move(problem);
  return result;
}

Finding found(const launcher::LaunchResult& result) {
  const auto finding = finding_of(result, kPlace, "run");
  EXPECT_TRUE(finding);
  return finding.value_or(Finding{});
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(Endings, ARunThatEndsAsItShouldHasNone) {
  EXPECT_FALSE(finding_of(ended(Ending::finished), kPlace, "run"));
  EXPECT_FALSE(finding_of(ended(Ending::finished, {{.kind = "note", .rank = 1, .text = "a note"}}), kPlace, "run"));
}

TEST(Endings, EachHasItsClass) {
  const std::vector<std::pair<Ending, VerdictClass>> classes = {
      {Ending::fault, VerdictClass::fault},       {Ending::deadlock, VerdictClass::deadlock},
      {Ending::budget, VerdictClass::budget},     {Ending::out_of_memory, VerdictClass::budget},
      {Ending::timeout, VerdictClass::budget},    {Ending::bad_message, VerdictClass::cheat},
      {Ending::rank_lost, VerdictClass::fault},   {Ending::failed, VerdictClass::fault},
      {Ending::interrupted, VerdictClass::infra}, {Ending::machine_lost, VerdictClass::infra},
  };
  for (const auto& [ending, verdict] : classes) {
    const Finding finding = found(ended(ending, {}, "something happened"));
    EXPECT_EQ(finding.verdict, verdict) << record::to_string(ending);
    EXPECT_FALSE(finding.summary.empty()) << record::to_string(ending);
    EXPECT_TRUE(finding.explanation.ends_with('\n')) << record::to_string(ending);
  }
}

TEST(Endings, TheIncidentTellsWhatAndWhere) {
  const Finding finding =
      found(ended(Ending::deadlock, {{.kind = "note", .rank = 0, .text = "not this"},
                                     {.kind = "deadlock", .rank = 3, .text = "all wait\nrank 3: 7"}}));
  EXPECT_EQ(finding.summary, "all wait");
  EXPECT_EQ(finding.explanation, "all wait\nrank 3: 7\n");
  record::Place place = kPlace;
  place.rank = 3;
  EXPECT_EQ(finding.place, place);
}

TEST(Endings, WithoutAnIncidentThePlaceIsTheJudges) {
  const Finding finding = found(ended(Ending::timeout, {}, "took longer than 60 s"));
  EXPECT_EQ(finding.place, kPlace);
  EXPECT_TRUE(has(finding.summary, "in run")) << finding.summary;
}

TEST(Endings, WhatFollowsAFaultCameOfIt) {
  const record::Incident fault{.kind = "fault", .rank = 1, .text = "kernel k: address 0 is not mapped"};
  for (const Ending ending : {Ending::fault, Ending::failed, Ending::deadlock, Ending::rank_lost, Ending::finished}) {
    const Finding finding = found(ended(ending, {fault}));
    EXPECT_EQ(finding.verdict, VerdictClass::fault) << record::to_string(ending);
    EXPECT_EQ(finding.summary, fault.text);
    EXPECT_EQ(finding.place.rank, 1);
  }
}

// Ranks 0 … 3, of which 2 ended by `signal` and the others were ended later.
launcher::LaunchResult ended_by(int signal) {
  auto result = ended(Ending::rank_lost, {{.kind = "rank_lost", .rank = 2, .text = "rank 2 is gone"}}, "rank 2 died");
  for (int rank = 0; rank < 4; ++rank)
    result.record.ranks.push_back({.rank = rank, .signal = SIGKILL, .ended = true, .seconds = 2});
  result.record.ranks[2] = {.rank = 2, .signal = signal, .seconds = 1};
  return result;
}

TEST(Endings, SignalsHaveTheirClass) {
  EXPECT_EQ(found(ended_by(SIGSYS)).verdict, VerdictClass::rule_violation);
  EXPECT_EQ(found(ended_by(SIGXCPU)).verdict, VerdictClass::budget);
  EXPECT_EQ(found(ended_by(SIGSEGV)).verdict, VerdictClass::fault);
  EXPECT_EQ(found(ended_by(SIGABRT)).verdict, VerdictClass::fault);
  EXPECT_TRUE(has(found(ended_by(SIGSEGV)).summary, "SIGSEGV in run"));
  for (const int signal : {SIGSYS, SIGXCPU, SIGSEGV}) EXPECT_EQ(found(ended_by(signal)).place.rank, 2);
}

TEST(Endings, UsedUpTimeReadsTheSameWhicheverLimitItWas) {
  const Finding by_wall = found(ended(Ending::timeout, {}, "took longer than 60 s")), by_cpu = found(ended_by(SIGXCPU));
  EXPECT_EQ(by_wall.verdict, by_cpu.verdict);
  EXPECT_EQ(by_wall.summary, by_cpu.summary);
  EXPECT_EQ(by_wall.explanation, by_cpu.explanation);
}

TEST(Endings, AKillIsOutOfTimeOnlyAfterALongTime) {
  auto result = ended_by(SIGKILL);
  EXPECT_EQ(found(result).verdict, VerdictClass::fault);
  result.record.ranks[2].seconds = 12;
  EXPECT_EQ(found(result).verdict, VerdictClass::budget);
}

TEST(Endings, TextsDoNotNameTheRankThatHappenedToBeFirst) {
  for (const int signal : {SIGSYS, SIGXCPU, SIGSEGV, 0}) {
    const Finding finding = found(ended_by(signal));
    EXPECT_FALSE(has(finding.summary, "rank 2")) << finding.summary;
    EXPECT_FALSE(has(finding.explanation, "rank 2")) << finding.explanation;
  }
}

TEST(Endings, WhomTheMachineLostFirstIsTheReason) {
  auto result = ended_by(SIGSEGV);
  result.record.ranks[3] = {.rank = 3, .signal = SIGSYS, .seconds = 0.5};
  EXPECT_EQ(found(result).verdict, VerdictClass::fault);
  EXPECT_EQ(found(result).place.rank, 2);
}

TEST(Endings, WithoutTheMachinesReportItIsTheFirstToFall) {
  auto result = ended_by(SIGSEGV);
  result.record.incidents.clear();
  result.record.ranks[3] = {.rank = 3, .signal = SIGSYS, .seconds = 0.5};
  EXPECT_EQ(found(result).verdict, VerdictClass::rule_violation);
  EXPECT_EQ(found(result).place.rank, 3);
  result.record.ranks[3].seconds = 1.5;
  EXPECT_EQ(found(result).verdict, VerdictClass::fault);
  EXPECT_EQ(found(result).place.rank, 2);
}

TEST(Endings, ARankThatLeavesByItselfIsAFault) {
  const Finding finding = found(ended_by(0));
  EXPECT_EQ(finding.verdict, VerdictClass::fault);
  EXPECT_EQ(finding.place.rank, 2);
  EXPECT_TRUE(has(finding.explanation, "A rank may not end by itself"));
}

TEST(Endings, ExceptionsAreFaultsAndNoMemoryIsTheBudget) {
  const auto thrown = [](std::string what) {
    return found(
        ended(Ending::failed, {{.kind = "failed", .rank = 1, .text = "rank 1: run threw: " + std::move(what)}}));
  };
  EXPECT_EQ(thrown("no such thing").verdict, VerdictClass::fault);
  EXPECT_EQ(thrown("std::bad_alloc").verdict, VerdictClass::budget);
  EXPECT_EQ(thrown("no such thing").summary, "run threw: no such thing");
  EXPECT_EQ(thrown("no such thing").place.rank, 1);
}

TEST(Endings, ShowsTheLastThatTheRankWrote) {
  auto result = ended_by(SIGSEGV);
  result.output_tail = {"", "of rank 1", "about to crash\nfabricbench-rank: our own words\n", ""};
  const std::string text = found(result).explanation;
  EXPECT_TRUE(has(text, "The last that it wrote:\n  about to crash\n")) << text;
  EXPECT_FALSE(has(text, "of rank 1")) << text;
  EXPECT_FALSE(has(text, "our own words")) << text;
  result.output_tail = {"all there is"};  // shorter than the world
  EXPECT_FALSE(has(found(result).explanation, "The last"));
}

TEST(Endings, WhatWeDoNotHaveIsNotTheCandidatesMistake) {
  for (const Ending ending : {Ending::failed, Ending::deadlock, Ending::fault, Ending::rank_lost}) {
    auto result = ended(ending, {}, "something happened");
    result.record.unsupported_calls = {{"cudaGraphAddNode", 2}, {"cuMulticastFoo", 1}};
    const Finding finding = found(result);
    EXPECT_EQ(finding.verdict, VerdictClass::unsupported) << record::to_string(ending);
    EXPECT_TRUE(has(finding.explanation, "does not support: cuMulticastFoo cudaGraphAddNode\n")) << finding.explanation;
  }
}

TEST(Endings, UnsupportedCallsExcuseNobodyWhoCheats) {
  auto result = ended(Ending::bad_message, {}, "no message");
  result.record.unsupported_calls = {{"cudaGraphAddNode", 1}};
  EXPECT_EQ(found(result).verdict, VerdictClass::cheat);
}

}  // namespace
}  // namespace fb::judge
