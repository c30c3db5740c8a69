#include "judge/session/endings.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace fb::judge {
namespace {

using record::Ending;
using record::IncidentReason;
using record::VerdictClass;

const record::FailureLocation kLocation{.size = "odd", .world = 4, .rank = -1, .call = 2, .schedule = 9};

launcher::LaunchResult ended(Ending ending, std::vector<record::Incident> incidents = {}, std::string problem = "") {
  launcher::LaunchResult result;
  result.record.ending = ending;
  result.record.incidents = std::move(incidents);
  result.problem = std::move(problem);
  return result;
}

Ruling found(const launcher::LaunchResult& result) {
  const auto finding = finding_of(result, kLocation, "run");
  EXPECT_TRUE(finding);
  return finding.value_or(Ruling{});
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(Endings, ARunThatEndsAsItShouldHasNone) {
  EXPECT_FALSE(finding_of(ended(Ending::finished), kLocation, "run"));
  EXPECT_FALSE(finding_of(ended(Ending::finished, {make_incident(IncidentReason::byte_history, 1, "a note")}),
                          kLocation, "run"));
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
    const Ruling finding = found(ended(ending, {}, "something happened"));
    EXPECT_EQ(finding.verdict, verdict) << record::to_string(ending);
    EXPECT_FALSE(finding.summary.empty()) << record::to_string(ending);
    EXPECT_TRUE(finding.explanation.ends_with('\n')) << record::to_string(ending);
  }
}

TEST(Endings, TheIncidentTellsWhatAndWhere) {
  const Ruling finding =
      found(ended(Ending::deadlock, {make_incident(IncidentReason::byte_history, 0, "not this"),
                                     make_incident(IncidentReason::all_wait, 3, "all wait\nrank 3: 7")}));
  EXPECT_EQ(finding.summary, "all wait");
  EXPECT_EQ(finding.explanation, "all wait\nrank 3: 7\n");
  record::FailureLocation place = kLocation;
  place.rank = 3;
  EXPECT_EQ(finding.location, place);
}

TEST(Endings, WithoutAnIncidentThePlaceIsTheJudges) {
  const Ruling finding = found(ended(Ending::timeout, {}, "took longer than 60 s"));
  EXPECT_EQ(finding.location, kLocation);
  EXPECT_TRUE(has(finding.summary, "in run")) << finding.summary;
}

TEST(Endings, WhatFollowsAFaultCameOfIt) {
  const auto fault = make_incident(IncidentReason::kernel_fault, 1, "kernel k: address 0 is not mapped");
  for (const Ending ending : {Ending::fault, Ending::failed, Ending::deadlock, Ending::rank_lost, Ending::finished}) {
    const Ruling finding = found(ended(ending, {fault}));
    EXPECT_EQ(finding.verdict, VerdictClass::fault) << record::to_string(ending);
    EXPECT_EQ(finding.summary, fault.text);
    EXPECT_EQ(finding.location.rank, 1);
  }
}

// Ranks 0 … 3, of which 2 ended by `signal` and the others were ended later.
launcher::LaunchResult ended_by(int signal) {
  auto result =
      ended(Ending::rank_lost, {make_incident(IncidentReason::rank_left_step, 2, "rank 2 is gone")}, "rank 2 died");
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
  for (const int signal : {SIGSYS, SIGXCPU, SIGSEGV}) EXPECT_EQ(found(ended_by(signal)).location.rank, 2);
}

TEST(Endings, UsedUpTimeReadsTheSameWhicheverLimitItWas) {
  const Ruling by_wall = found(ended(Ending::timeout, {}, "took longer than 60 s")), by_cpu = found(ended_by(SIGXCPU));
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
    const Ruling finding = found(ended_by(signal));
    EXPECT_FALSE(has(finding.summary, "rank 2")) << finding.summary;
    EXPECT_FALSE(has(finding.explanation, "rank 2")) << finding.explanation;
  }
}

TEST(Endings, TheRankThatTheMachineLostFirstIsTheReason) {
  auto result = ended_by(SIGSEGV);
  result.record.ranks[3] = {.rank = 3, .signal = SIGSYS, .seconds = 0.5};
  EXPECT_EQ(found(result).verdict, VerdictClass::fault);
  EXPECT_EQ(found(result).location.rank, 2);
}

TEST(Endings, WithoutTheMachinesReportItIsTheFirstToFall) {
  auto result = ended_by(SIGSEGV);
  result.record.incidents.clear();
  result.record.ranks[3] = {.rank = 3, .signal = SIGSYS, .seconds = 0.5};
  EXPECT_EQ(found(result).verdict, VerdictClass::rule_violation);
  EXPECT_EQ(found(result).location.rank, 3);
  result.record.ranks[3].seconds = 1.5;
  EXPECT_EQ(found(result).verdict, VerdictClass::fault);
  EXPECT_EQ(found(result).location.rank, 2);
}

TEST(Endings, ARankThatLeavesByItselfIsAFault) {
  const Ruling finding = found(ended_by(0));
  EXPECT_EQ(finding.verdict, VerdictClass::fault);
  EXPECT_EQ(finding.location.rank, 2);
  EXPECT_TRUE(has(finding.explanation, "A rank may not end by itself"));
}

TEST(Endings, ExceptionsAreFaultsAndBadAllocIsTheBudget) {
  const auto thrown = [](IncidentReason reason, const char* what) {
    return found(ended(Ending::failed, {make_incident(reason, 1, std::string("run, call 3 threw: ") + what)}));
  };
  const Ruling finding = thrown(IncidentReason::rank_threw, "no such thing");
  EXPECT_EQ(finding.verdict, VerdictClass::fault);
  EXPECT_EQ(finding.summary, "run, call 3 threw: no such thing");
  EXPECT_EQ(finding.location.rank, 1);
  EXPECT_EQ(thrown(IncidentReason::rank_threw_bad_alloc, "none left").verdict, VerdictClass::budget);
  EXPECT_EQ(thrown(IncidentReason::rank_threw, "std::bad_alloc").verdict, VerdictClass::fault) << "texts mean nothing";
}

TEST(Endings, EveryReasonThatEndsARunHasItsClass) {
  for (int r = 1; r <= static_cast<int>(IncidentReason::rank_threw_bad_alloc); ++r) {
    const auto incident = make_incident(static_cast<IncidentReason>(r), 1, "something happened");
    if (!incident.fatal) continue;
    EXPECT_EQ(found(ended(ending_of(incident.kind), {incident})).verdict, verdict_of(incident))
        << to_string(incident.reason);
  }
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

TEST(Endings, WhatWeDoNotHaveIsOursWhereTheCandidateGaveUpForIt) {
  const auto threw = [](const std::string& text) {
    auto result = ended(Ending::failed);
    result.record.incidents = {
        record::make_incident(record::IncidentReason::rank_threw, 0, "construct threw: " + text)};
    result.record.ending = *record::ending_of(result.record.incidents[0]);
    result.record.unsupported_calls = {{"cudaGraphAddNode", 2}, {"cuMulticastFoo", 1}};
    return found(result);
  };
  for (const std::string text : {"cudaGraphAddNode failed", "operation not supported", "CUDA error 801"}) {
    const Ruling finding = threw(text);
    EXPECT_EQ(finding.verdict, VerdictClass::unsupported) << text;
    EXPECT_TRUE(has(finding.explanation, "does not support: cuMulticastFoo cudaGraphAddNode\n")) << finding.explanation;
  }
  EXPECT_EQ(threw("out of patience").verdict, VerdictClass::fault);
}

TEST(Endings, AnIgnoredCallThatWeDoNotHaveExcusesNothing) {
  for (const Ending ending : {Ending::failed, Ending::deadlock, Ending::fault, Ending::rank_lost}) {
    auto result = ended(ending, {}, "something happened");
    const VerdictClass without = found(result).verdict;
    result.record.unsupported_calls = {{"cudaGraphAddNode", 2}};
    EXPECT_EQ(found(result).verdict, without) << record::to_string(ending);
    EXPECT_TRUE(has(found(result).explanation, "does not support: cudaGraphAddNode\n"));
  }
}

TEST(Endings, CallsThatFailedAreListed) {
  record::RunRecord record;
  EXPECT_EQ(failed_calls(record), "");
  record.failed_calls = {{"the launch of kernel sum: cudaErrorInvalidConfiguration", 4}};
  EXPECT_TRUE(has(failed_calls(record), "  the launch of kernel sum: cudaErrorInvalidConfiguration\n"));
}

TEST(Endings, UnsupportedCallsDoNotExcuseACheat) {
  auto result = ended(Ending::bad_message, {}, "no message");
  result.record.unsupported_calls = {{"cudaGraphAddNode", 1}};
  EXPECT_EQ(found(result).verdict, VerdictClass::cheat);
}

TEST(Endings, SignalsThatMayComeFromOutsideAreInDoubt) {
  const auto with = [](int signal, double seconds, bool by_launcher) {
    launcher::LaunchResult result = ended(Ending::rank_lost);
    result.record.ranks = {{.rank = 0}, {.rank = 1, .signal = signal, .ended = by_launcher, .seconds = seconds}};
    return may_have_been_killed(result);
  };
  for (const int signal : {SIGKILL, SIGTERM, SIGINT, SIGHUP}) EXPECT_TRUE(with(signal, 1, false)) << signal;
  for (const int signal : {SIGSEGV, SIGABRT, SIGSYS, SIGXCPU}) EXPECT_FALSE(with(signal, 1, false)) << signal;
  EXPECT_FALSE(with(SIGKILL, 1, true)) << "by the launcher";
  EXPECT_FALSE(with(SIGKILL, 11, false)) << "its processor time was used up";
  EXPECT_FALSE(may_have_been_killed(ended(Ending::deadlock)));
}

}  // namespace
}  // namespace fb::judge
