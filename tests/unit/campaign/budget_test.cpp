#include "campaign/budget.h"

#include <gtest/gtest.h>

namespace fb::campaign {
namespace {

using namespace std::chrono_literals;
using Decision = Budget::Decision;

constexpr Budget::Clock::time_point kNow{1h};

TEST(Budget, LimitsCallsAtOnce) {
  const Budget budget({.calls = 2});
  EXPECT_TRUE(budget.has_slot(1, kNow));
  EXPECT_FALSE(budget.has_slot(2, kNow));
  EXPECT_FALSE(budget.limits_cost());
  EXPECT_EQ(budget.decide(1e9, 1), Decision::allowed) << "without a limit in USD";
}

TEST(Budget, LimitsCallsPerMinute) {
  Budget budget({.calls = 9, .calls_per_minute = 30});
  EXPECT_TRUE(budget.has_slot(0, kNow));
  budget.begins(0, kNow);
  EXPECT_FALSE(budget.has_slot(0, kNow + 1999ms));
  EXPECT_TRUE(budget.has_slot(0, kNow + 2s));
}

TEST(Budget, CountsWhatRunningCallsMayCost) {
  Budget budget({.max_usd = 1.0});
  EXPECT_TRUE(budget.limits_cost());
  EXPECT_EQ(budget.decide(0.6, 0), Decision::allowed);
  budget.begins(0.6, kNow);
  EXPECT_EQ(budget.decide(0.6, 1), Decision::wait) << "the running call may cost less than reserved";
  EXPECT_EQ(budget.decide(0.4, 1), Decision::allowed);
  budget.ends(0.6);
  budget.spend(0.25);
  EXPECT_EQ(budget.decide(0.6, 0), Decision::allowed);
  EXPECT_EQ(budget.decide(0.8, 0), Decision::exhausted);
  EXPECT_EQ(budget.spent(), 0.25);
}

TEST(Budget, CountsWhatEarlierProcessesHaveSpent) {
  Budget budget({.max_usd = 1.0});
  budget.spend(1.0);
  EXPECT_EQ(budget.decide(0.0, 0), Decision::allowed);
  EXPECT_EQ(budget.decide(0.001, 0), Decision::exhausted);
}

}  // namespace
}  // namespace fb::campaign
