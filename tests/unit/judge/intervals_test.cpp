#include "judge/score/intervals.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fb::judge {
namespace {

using record::Timing;

Timing timing(const char* size, double seconds, std::map<std::string, double> sensitivity = {}) {
  Timing t{.size = size, .world = 8, .seconds = seconds};
  if (sensitivity.empty()) return t;
  for (const auto group : platform::kGroups) t.sensitivity[std::string(name_of(group))] = 0;
  for (const auto& [name, e] : sensitivity) t.sensitivity[name] = e;
  return t;
}

platform::Platform platform() {
  platform::Platform p;
  p.uncertainty = {.latency = 0.2, .bandwidth = 0.1, .in_flight = 0.3, .issue = 0.25, .launch = 0.4};
  return p;
}

TEST(Intervals, ATimeThatIsAllOneThingAnswersToItWhole) {
  std::vector<Timing> timings = {timing("a", 2)};
  add_elasticities(timings, {{platform::Group::latency, kSlower, {timing("a", 2 * kSlower)}},
                             {platform::Group::issue, kSlower, {timing("a", 2)}},
                             {platform::Group::launch, kSlower, {timing("a", 2 + (kSlower - 1))}}});
  EXPECT_NEAR(timings[0].sensitivity.at("latency"), 1, 1e-12);
  EXPECT_NEAR(timings[0].sensitivity.at("issue"), 0, 1e-12);
  EXPECT_NEAR(timings[0].sensitivity.at("launch"), 0.5, 1e-12) << "half of the time";
}

TEST(Intervals, SeveralRunsGiveTheSlopeOfALine) {
  std::vector<Timing> timings = {timing("a", 10)};
  // Half of the time, with a step of 0.1 that only the slower run has.
  add_elasticities(timings, {{platform::Group::latency, 0.9, {timing("a", 9.5)}},
                             {platform::Group::latency, 1.1, {timing("a", 10.6)}}});
  EXPECT_NEAR(timings[0].sensitivity.at("latency"), 0.55, 1e-12);
}

TEST(Intervals, ElasticitiesAreOfTheSameCall) {
  std::vector<Timing> timings = {timing("small", 1), timing("large", 4)};
  add_elasticities(timings, {{platform::Group::latency, kSlower, {timing("large", 4 * kSlower), timing("other", 9)}}});
  EXPECT_TRUE(timings[0].sensitivity.empty());
  EXPECT_NEAR(timings[1].sensitivity.at("latency"), 1, 1e-12);
}

TEST(Intervals, SharesOfATimeAreItsElasticities) {
  const auto all = sensitivity_of({600, 300, 450, 80, 20}, 1000);
  ASSERT_EQ(all.size(), platform::kGroups.size());
  EXPECT_DOUBLE_EQ(all.at("latency"), 0.6);
  EXPECT_DOUBLE_EQ(all.at("in_flight"), 0.45) << "beside the others, whose sum is the whole time";
  EXPECT_TRUE(sensitivity_of({600, 300, 450, 0, 20}, 1000).empty()) << "8 % of it are not known";
  EXPECT_TRUE(sensitivity_of({}, 0).empty());
}

TEST(Intervals, ErrorsOfGroupsAddLikeIndependentOnes) {
  EXPECT_DOUBLE_EQ(relative_error({0.5, 0, 0, 0, 1}, {0.6, 9, 9, 9, 0.4}), 0.5);
  EXPECT_DOUBLE_EQ(relative_error({-1, 0, 0, 0, 0}, {0.2, 0, 0, 0, 0}), 0.2);
}

TEST(Intervals, OfATimeComeFromWhatItAnswersTo) {
  record::Verdict v;
  v.timings = {timing("a", 10, {{"latency", 1}})};
  add_intervals(v, {}, platform());
  EXPECT_NEAR(v.timings[0].range.low, 10 * std::exp(-0.2), 1e-9);
  EXPECT_NEAR(v.timings[0].range.high, 10 * std::exp(0.2), 1e-9);
  EXPECT_FALSE(v.timings[0].speed_range.known());
}

TEST(Intervals, OfASpeedHaveNoErrorThatBothShare) {
  record::Verdict v;
  v.speed = 2;
  v.timings = {timing("a", 10, {{"latency", 0.75}, {"launch", 0.25}})};
  v.timings[0].reference_seconds = 20;
  // The same mixture, twice as long: whatever the constants are, the candidate is twice as fast.
  add_intervals(v, {timing("a", 20, {{"latency", 0.75}, {"launch", 0.25}})}, platform());
  EXPECT_NEAR(v.timings[0].speed_range.low, 2, 1e-12);
  EXPECT_NEAR(v.timings[0].speed_range.high, 2, 1e-12);
  EXPECT_NEAR(v.speed_range.low, 2, 1e-12);
  // Latencies against bandwidth: both errors count.
  add_intervals(v, {timing("a", 20, {{"bandwidth", 1}})}, platform());
  const double error = std::sqrt(std::pow(0.75 * 0.2, 2) + std::pow(0.25 * 0.4, 2) + std::pow(0.1, 2));
  EXPECT_NEAR(std::log(v.timings[0].speed_range.high / 2), error, 1e-9);
  EXPECT_NEAR(std::log(2 / v.timings[0].speed_range.low), error, 1e-9);
}

// The baseline's time is on a line to a larger size, the candidate's is not: both are compared at a sample.
TEST(Intervals, OfASpeedAreAroundIt) {
  record::Verdict v;
  v.speed = 2;
  v.timings = {timing("a", 10, {{"latency", 1}})};
  v.timings[0].baseline_seconds = 20;
  record::Timing baseline = timing("a", 70, {{"bandwidth", 1}});
  baseline.line_range = {60, 80};
  add_intervals(v, {baseline}, platform());
  const double error = std::sqrt(std::pow(0.2, 2) + std::pow(0.1, 2));
  EXPECT_NEAR(v.timings[0].speed_range.low, 2 * std::exp(-error), 1e-9);
  EXPECT_NEAR(v.timings[0].speed_range.high, 2 * std::exp(error), 1e-9);
}

TEST(Intervals, OfAVerdictsSpeedLetSizesMakeUpForEachOther) {
  record::Verdict v;
  v.speed = 1;
  v.timings = {timing("a", 1, {{"latency", 1}}), timing("b", 1, {{"latency", 0.01}})};
  for (auto& t : v.timings) t.reference_seconds = 1;
  add_intervals(v, {timing("a", 1, {{"latency", 0.01}}), timing("b", 1, {{"latency", 1}})}, platform());
  EXPECT_GT(v.timings[0].speed_range.high, 1.2);
  EXPECT_GT(v.timings[1].speed_range.high, 1.2);
  EXPECT_NEAR(v.speed_range.high, 1, 1e-9);
}

TEST(Intervals, AreMissingWhereSomethingWasNotMeasured) {
  record::Verdict v;
  v.speed = 1;
  v.timings = {timing("a", 1, {{"latency", 1}}), timing("b", 1)};
  for (auto& t : v.timings) t.reference_seconds = 1;
  add_intervals(v, {timing("a", 1, {{"launch", 1}}), timing("b", 1, {{"launch", 1}})}, platform());
  EXPECT_TRUE(v.timings[0].speed_range.known());
  EXPECT_FALSE(v.timings[1].range.known());
  EXPECT_FALSE(v.timings[1].speed_range.known());
  EXPECT_FALSE(v.speed_range.known()) << "half of the sizes say nothing about the whole";
}

}  // namespace
}  // namespace fb::judge
