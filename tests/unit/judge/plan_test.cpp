#include "judge/plan.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace fb::judge {
namespace {

class Plan : public testing::Test {
 protected:
  Plan() {
    problem_.worlds = {4, 2, 8, 3};
    problem_.sizes = {{.name = "one", .values = {}, .quick = true},
                      {.name = "odd", .values = {}, .quick = true},
                      {.name = "large", .values = {}, .timed = true},
                      {.name = "huge", .values = {}}};
  }
  std::vector<SessionPlan> plan(Thoroughness thoroughness, uint64_t seed = 1) const {
    return make_plan(problem_, thoroughness, seed);
  }
  catalog::Problem problem_;
};

std::vector<std::string> names(const SessionPlan& session) {
  std::vector<std::string> found;
  for (const Phase& phase : session.phases) found.push_back(phase.size->name);
  return found;
}

// All that tells two plans apart.
std::vector<std::string> text_of(const std::vector<SessionPlan>& plan) {
  std::vector<std::string> lines;
  for (const SessionPlan& session : plan) {
    std::string line =
        std::to_string(session.world) + " " + std::to_string(session.schedule) + (session.strict ? " strict" : "");
    for (const Phase& phase : session.phases) {
      line += ", " + phase.size->name + " " + std::to_string(phase.burst) + " " + std::to_string(phase.timed) + " " +
              std::to_string(phase.seed);
    }
    lines.push_back(line);
  }
  return lines;
}

TEST_F(Plan, IsAFunctionOfTheSeed) {
  for (const auto how : {Thoroughness::quick, Thoroughness::full, Thoroughness::times}) {
    EXPECT_EQ(text_of(plan(how, 5)), text_of(plan(how, 5)));
    EXPECT_NE(text_of(plan(how, 5)), text_of(plan(how, 6)));
  }
}

TEST_F(Plan, OrdinaryIsWhatTheOthersDoByVirtualTime) {
  const auto by_time = [&](Thoroughness how) {
    auto sessions = plan(how);
    std::erase_if(sessions, [](const SessionPlan& session) { return session.schedule != 0; });
    return sessions;
  };
  EXPECT_EQ(text_of(plan(Thoroughness::ordinary)), text_of(by_time(Thoroughness::full)));
  EXPECT_EQ(plan(Thoroughness::ordinary).size(), problem_.worlds.size());
  EXPECT_EQ(text_of(plan(Thoroughness::ordinary_quick)), text_of(by_time(Thoroughness::quick)));
  EXPECT_EQ(plan(Thoroughness::ordinary_quick).size(), 1u);
}

TEST_F(Plan, QuickIsTheFirstWorldTheQuickSizesAndTwoSchedules) {
  const auto sessions = plan(Thoroughness::quick);
  ASSERT_EQ(sessions.size(), 2u);
  for (const SessionPlan& session : sessions) {
    EXPECT_EQ(session.world, 4);
    EXPECT_EQ(names(session), (std::vector<std::string>{"one", "odd"}));
    for (const Phase& phase : session.phases) EXPECT_EQ(phase.timed, 0u);
  }
  EXPECT_EQ(sessions[0].schedule, 0u);
  EXPECT_NE(sessions[1].schedule, 0u);
}

TEST_F(Plan, FullIsEveryWorldWithEverySize) {
  std::map<int, std::set<std::string>> seen;
  std::map<int, std::set<uint64_t>> schedules;
  for (const SessionPlan& session : plan(Thoroughness::full)) {
    for (const std::string& name : names(session)) seen[session.world].insert(name);
    EXPECT_TRUE(schedules[session.world].insert(session.schedule).second) << "the same schedule twice";
  }
  ASSERT_EQ(seen.size(), problem_.worlds.size());
  for (const int world : problem_.worlds) {
    EXPECT_EQ(seen[world], (std::set<std::string>{"one", "odd", "large", "huge"})) << world;
    EXPECT_TRUE(schedules[world].contains(0)) << world;
    EXPECT_GE(schedules[world].size(), 2u) << world;
  }
}

TEST_F(Plan, TimesAreOfTimedSizesAtTheLargestWorldOrderedByTime) {
  EXPECT_EQ(timed_world(problem_), 8);
  for (const auto how : {Thoroughness::full, Thoroughness::times}) {
    std::vector<std::string> timed;
    for (const SessionPlan& session : plan(how)) {
      for (const Phase& phase : session.phases) {
        if (phase.timed == 0) continue;
        timed.push_back(phase.size->name);
        EXPECT_EQ(session.world, 8);
        EXPECT_EQ(session.schedule, 0u);
      }
    }
    EXPECT_EQ(timed, std::vector<std::string>{"large"}) << "each once";
  }
}

TEST_F(Plan, CallsFollowEachOtherInEveryPhase) {
  for (const auto how : {Thoroughness::quick, Thoroughness::full}) {
    for (const SessionPlan& session : plan(how)) {
      for (const Phase& phase : session.phases) EXPECT_GE(phase.burst, 2u);
    }
  }
}

TEST_F(Plan, NoTwoPhasesHaveTheSameInputs) {
  std::set<uint64_t> seeds;
  size_t phases = 0;
  for (const SessionPlan& session : plan(Thoroughness::full)) {
    for (const Phase& phase : session.phases) {
      seeds.insert(phase.seed);
      ++phases;
    }
  }
  EXPECT_EQ(seeds.size(), phases);
}

}  // namespace
}  // namespace fb::judge
