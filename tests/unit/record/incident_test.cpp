#include "common/record/incident.h"

#include <gtest/gtest.h>

namespace fb::record {
namespace {

constexpr int kEndings = static_cast<int>(Ending::machine_lost) + 1;
constexpr int kKinds = static_cast<int>(IncidentKind::failed) + 1;
constexpr int kReasons = static_cast<int>(IncidentReason::rank_threw_bad_alloc) + 1;

IncidentReason reason_at(int k) { return static_cast<IncidentReason>(k); }

TEST(IncidentTable, EveryNameIsReadBack) {
  for (int k = 0; k < kEndings; ++k) EXPECT_EQ(ending_from(to_string(static_cast<Ending>(k))), static_cast<Ending>(k));
  for (int k = 0; k < kKinds; ++k)
    EXPECT_EQ(incident_kind_from(to_string(static_cast<IncidentKind>(k))), static_cast<IncidentKind>(k));
  for (int k = 0; k < kReasons; ++k) EXPECT_EQ(incident_reason_from(to_string(reason_at(k))), reason_at(k));
  EXPECT_EQ(ending_from("happily"), std::nullopt);
  EXPECT_EQ(incident_kind_from("finished"), std::nullopt);
  EXPECT_EQ(incident_reason_from(""), std::nullopt);
}

TEST(IncidentTable, EveryEndingButFinishedHasAClass) {
  for (int k = 0; k < kEndings; ++k) {
    const auto ending = static_cast<Ending>(k);
    EXPECT_EQ(verdict_of(ending) == VerdictClass::pass, ending == Ending::finished) << to_string(ending);
  }
}

TEST(IncidentTable, EveryKindHasAReasonAndAMapping) {
  for (int k = 0; k < kKinds; ++k) {
    const auto kind = static_cast<IncidentKind>(k);
    int reasons = 0;
    for (int r = 1; r < kReasons; ++r) reasons += make_incident(reason_at(r), 0, "").kind == kind ? 1 : 0;
    EXPECT_GT(reasons, 0) << to_string(kind);
    EXPECT_EQ(ending_of(kind) == Ending::finished, kind == IncidentKind::note) << to_string(kind);
  }
}

TEST(IncidentTable, WhatEndsARunHasAClassAndAnEnding) {
  for (int r = 1; r < kReasons; ++r) {
    const Incident incident = make_incident(reason_at(r), 0, "");
    if (!incident.fatal) continue;
    EXPECT_NE(verdict_of(incident), VerdictClass::pass) << to_string(incident.reason);
    EXPECT_EQ(ending_of(incident), ending_of(incident.kind)) << to_string(incident.reason);
  }
}

TEST(IncidentTable, NotesDoNotEndRunsAndFaultsSetTheEnding) {
  EXPECT_EQ(ending_of(make_incident(IncidentReason::byte_history, {}, "")), std::nullopt);
  EXPECT_EQ(ending_of(make_incident(IncidentReason::rank_left, 1, "")), std::nullopt);
  const Incident fault = make_incident(IncidentReason::kernel_fault, 1, "");
  EXPECT_FALSE(fault.fatal);
  EXPECT_EQ(ending_of(fault), Ending::fault);
  Incident race = make_incident(IncidentReason::unordered_accesses, 1, "");
  EXPECT_EQ(ending_of(race), Ending::race);
  race.fatal = false;  // more are wanted
  EXPECT_EQ(ending_of(race), Ending::race);
}

TEST(Incident, ANegativeRankIsNone) {
  EXPECT_EQ(make_incident(IncidentReason::all_wait, -1, "").rank, std::nullopt);
  EXPECT_EQ(make_incident(IncidentReason::all_wait, 0, "").rank, 0);
}

TEST(Incident, IsOneLine) {
  const Incident incident = make_incident(IncidentReason::kernel_fault, 2, "a\nb\xff");
  const std::string line = to_json_line(incident);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto back = parse_incident(line);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->kind, IncidentKind::fault);
  EXPECT_EQ(back->reason, IncidentReason::kernel_fault);
  EXPECT_EQ(back->rank, 2);
  EXPECT_FALSE(back->fatal);
  EXPECT_EQ(back->text.substr(0, 3), "a\nb");
}

TEST(Incident, OlderRecordsHaveNoReason) {
  const auto old = parse_incident(R"({"kind":"deadlock","rank":null,"text":"all wait","fatal":true})");
  ASSERT_TRUE(old);
  EXPECT_EQ(old->kind, IncidentKind::deadlock);
  EXPECT_EQ(old->reason, IncidentReason::unspecified);
  EXPECT_EQ(verdict_of(*old), VerdictClass::deadlock);
  EXPECT_EQ(ending_of(*old), Ending::deadlock);
  const auto note = parse_incident(R"({"kind":"note","rank":1,"text":"uses a module that the machine can't run"})");
  ASSERT_TRUE(note);
  EXPECT_EQ(verdict_of(*note), VerdictClass::pass) << "texts mean nothing";
}

TEST(Incident, RefusesOtherText) {
  EXPECT_FALSE(parse_incident("ready"));
  EXPECT_FALSE(parse_incident("3"));
  EXPECT_FALSE(parse_incident(R"({"kind":"earthquake"})"));
  EXPECT_FALSE(parse_incident(R"({"kind":"note","reason":"boredom"})"));
}

}  // namespace
}  // namespace fb::record
