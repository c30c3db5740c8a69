#include "judge/session/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "common/record/run_options.h"

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

bool is_drawn(const wire::StepOrder& order) { return order.schedule == wire::StepSchedule::drawn; }
// By virtual time, and nothing is late.
bool is_undisturbed(const wire::StepOrder& order) {
  return order.schedule == wire::StepSchedule::by_time && order.seed == 0;
}

std::vector<std::string> names(const SessionPlan& session) {
  std::vector<std::string> found;
  for (const Phase& phase : session.phases) found.push_back(phase.size->name);
  return found;
}

// All that tells two plans apart.
std::vector<std::string> text_of(const std::vector<SessionPlan>& plan) {
  const auto text = [](const wire::StepOrder& order) {
    return " " + std::to_string(static_cast<uint32_t>(order.schedule)) + "/" + std::to_string(order.seed);
  };
  std::vector<std::string> lines;
  for (const SessionPlan& session : plan) {
    std::string line = std::to_string(session.world) + " " + std::to_string(session.schedule) +
                       (session.strict ? " strict" : "") + (session.looks_for_races ? " checked" : "");
    for (const Phase& phase : session.phases) {
      line += ", " + phase.size->name + " " + std::to_string(phase.seed) + text(phase.set_up) + text(phase.tear_down);
      for (const CallStep& step : phase.steps)
        line += " " + std::to_string(step.calls) + (step.timed ? "t" : "") + text(step.order);
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

// A candidate that looks at one half of a wide store and trusts the other is caught by one order only.
TEST_F(Plan, TearsWideStoresInBothOrders) {
  problem_.atomic_bytes = 8;
  for (const uint64_t seed : {1, 2, 3, 4}) {
    std::set<bool> high_first;
    size_t strict = 0;
    for (const SessionPlan& session : plan(Thoroughness::full, seed)) {
      if (!session.strict) continue;
      ++strict;
      high_first.insert((session.schedule & record::kHighPieceFirst) != 0);
    }
    EXPECT_EQ(strict, problem_.worlds.size());
    EXPECT_EQ(high_first.size(), 2u) << seed;
  }
}

TEST_F(Plan, OrdinaryIsOneUndisturbedSessionOfEachWorld) {
  EXPECT_EQ(plan(Thoroughness::ordinary).size(), problem_.worlds.size());
  EXPECT_EQ(plan(Thoroughness::ordinary_quick).size(), 1u);
  for (const auto how : {Thoroughness::ordinary, Thoroughness::ordinary_quick}) {
    for (const SessionPlan& session : plan(how)) {
      EXPECT_EQ(session.schedule, 0u);
      EXPECT_FALSE(session.looks_for_races);
      for (const Phase& phase : session.phases) {
        EXPECT_TRUE(is_undisturbed(phase.set_up));
        for (const CallStep& step : phase.steps) EXPECT_TRUE(is_undisturbed(step.order));
      }
    }
  }
}

TEST_F(Plan, QuickIsTheFirstWorldWithTheQuickSizes) {
  const auto sessions = plan(Thoroughness::quick);
  ASSERT_EQ(sessions.size(), kSessions);
  for (const SessionPlan& session : sessions) {
    EXPECT_EQ(session.world, 4);
    EXPECT_EQ(names(session), (std::vector<std::string>{"one", "odd"}));
    for (const Phase& phase : session.phases) EXPECT_FALSE(phase.is_timed());
  }
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
    std::set<std::string> sizes = {"one", "odd", "huge"};
    if (world == 8) sizes.insert("large");
    EXPECT_EQ(seen[world], sizes) << "sizes that are timed are large: the largest world has them";
    EXPECT_EQ(schedules[world].size(), kSessions + (world == 8 ? 1 : 0)) << world;
  }
}

// What is too large to run is sampled; every sample is called and timed like any other size.
TEST_F(Plan, SamplesStandForASizeThatIsTooLarge) {
  catalog::SizeClass huge = {.name = "gigantic", .values = {{"n", 1000}}, .timed = true, .scale = "n"};
  for (const int64_t n : {10, 20, 30})
    huge.samples.push_back({.name = "gigantic", .values = {{"n", n}}, .timed = true, .scale = "n"});
  problem_.sizes.push_back(huge);
  for (const auto how : {Thoroughness::full, Thoroughness::times, Thoroughness::ordinary}) {
    std::multiset<int64_t> timed;
    std::set<uint64_t> seeds;
    for (const SessionPlan& session : plan(how)) {
      for (const Phase& phase : session.phases) {
        if (phase.size->name != "gigantic") continue;
        EXPECT_EQ(session.world, 8);
        EXPECT_GE(phase.calls(), 2u);
        ASSERT_TRUE(phase.is_timed());
        timed.insert(phase.size->values.at("n"));
        seeds.insert(phase.seed);
      }
    }
    EXPECT_EQ(timed, (std::multiset<int64_t>{10, 20, 30})) << "never the size itself";
    EXPECT_EQ(seeds.size(), 1u) << "what is drawn for one sample is drawn for all";
  }
}

TEST_F(Plan, RacesAreLookedForEverywhereExceptAtTimedSizes) {
  for (const SessionPlan& session : plan(Thoroughness::full)) {
    for (const Phase& phase : session.phases) {
      EXPECT_EQ(session.one_piece_in > 1, phase.size->timed) << phase.size->name;
    }
  }
}

TEST_F(Plan, RacesAreLookedForInEverySessionOfACheck) {
  for (const auto how : {Thoroughness::quick, Thoroughness::full}) {
    for (const SessionPlan& session : plan(how)) {
      EXPECT_TRUE(session.looks_for_races);
      EXPECT_NE(session.schedule, 0u);
    }
  }
}

TEST_F(Plan, QuickSizesHaveCallsInBothOrdersInEverySession) {
  for (const auto how : {Thoroughness::quick, Thoroughness::full}) {
    for (const SessionPlan& session : plan(how)) {
      for (const Phase& phase : session.phases) {
        if (!phase.size->quick) continue;
        EXPECT_TRUE(std::ranges::any_of(phase.steps, [](const CallStep& s) { return is_drawn(s.order); }));
        EXPECT_TRUE(std::ranges::any_of(phase.steps, [](const CallStep& s) { return !is_drawn(s.order); }));
        for (const CallStep& step : phase.steps) EXPECT_FALSE(is_undisturbed(step.order)) << "calls may be late";
      }
    }
  }
}

TEST_F(Plan, TimesAreOfTimedSizesAtTheLargestWorldUndisturbed) {
  EXPECT_EQ(timed_world(problem_), 8);
  for (const auto how : {Thoroughness::full, Thoroughness::times}) {
    std::vector<std::string> timed;
    for (const SessionPlan& session : plan(how)) {
      for (const Phase& phase : session.phases) {
        for (const CallStep& step : phase.steps) {
          if (!step.timed) continue;
          timed.push_back(phase.size->name);
          EXPECT_EQ(session.world, 8);
          EXPECT_TRUE(is_undisturbed(step.order));
        }
      }
    }
    EXPECT_EQ(timed, std::vector<std::string>{"large"}) << "each once";
  }
}

// Number of the timed call, whether another one follows back to back, how many calls there are, and the order of the
// call before: each must take several values, or a candidate could know.
TEST_F(Plan, TheTimedCallIsAtADrawnPlace) {
  std::set<uint32_t> number, in_step, in_all;
  std::set<bool> before_is_drawn;
  for (uint64_t seed = 0; seed < 64; ++seed) {
    for (const SessionPlan& session : plan(Thoroughness::full, seed)) {
      for (const Phase& phase : session.phases) {
        uint32_t before = 0;
        for (size_t k = 0; k < phase.steps.size(); before += phase.steps[k++].calls) {
          if (!phase.steps[k].timed) continue;
          EXPECT_GE(before, 1u) << "a candidate may prepare itself in its first call";
          number.insert(before);
          in_step.insert(phase.steps[k].calls);
          in_all.insert(phase.calls());
          before_is_drawn.insert(is_drawn(phase.steps[k - 1].order));
        }
      }
    }
  }
  EXPECT_GE(number.size(), 2u);
  EXPECT_GE(in_step.size(), 2u);
  EXPECT_GE(in_all.size(), 3u);
  EXPECT_EQ(before_is_drawn.size(), 2u);
}

TEST_F(Plan, SensitivitiesAreMeasuredOnTheSameTimedSteps) {
  const auto timed_calls = [&](Thoroughness how, uint64_t seed) {
    std::map<std::string, uint32_t> calls;
    for (const SessionPlan& session : plan(how, seed)) {
      for (const Phase& phase : session.phases) {
        for (const CallStep& step : phase.steps) {
          if (step.timed) calls[phase.size->name] = step.calls;
        }
      }
    }
    return calls;
  };
  for (uint64_t seed = 0; seed < 16; ++seed)
    EXPECT_EQ(timed_calls(Thoroughness::full, seed), timed_calls(Thoroughness::times, seed));
}

TEST_F(Plan, CallsFollowEachOtherInEveryPhase) {
  for (const auto how : {Thoroughness::quick, Thoroughness::full}) {
    for (const SessionPlan& session : plan(how)) {
      for (const Phase& phase : session.phases) EXPECT_GE(phase.calls(), 2u);
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
