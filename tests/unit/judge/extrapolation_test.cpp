#include "judge/score/extrapolation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace fb::judge {
namespace {

using record::SamplePoint;
using record::Timing;

constexpr double kMicro = 1e-6;

std::vector<SamplePoint> points(const std::function<double(double)>& microseconds,
                                const std::vector<int64_t>& values = {1000, 2300, 3000}) {
  std::vector<SamplePoint> all;
  for (const int64_t value : values) all.push_back({value, microseconds(static_cast<double>(value)) * kMicro});
  return all;
}

TEST(Extrapolate, ALineIsContinued) {
  const auto found = extrapolate(points([](double x) { return 5 + x / 100; }), 64000);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->seconds, 645 * kMicro, 1e-12);
  EXPECT_NEAR(found->range.low, found->seconds, 1e-12);
  EXPECT_NEAR(found->range.high, found->seconds, 1e-12);
}

// The middle is 0.2 us above the line; both ends may be off as much.
TEST(Extrapolate, TheIntervalComesFromTheDistanceToTheLine) {
  const auto found = extrapolate({{1000, 15.0e-6}, {2000, 25.2e-6}, {3000, 35e-6}}, 13000);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->seconds, 135e-6, 1e-12);
  EXPECT_NEAR(found->range.low, 132.8e-6, 1e-12);
  EXPECT_NEAR(found->range.high, 137.2e-6, 1e-12);
}

// Programs whose time is no line: refused, or the true time is in the interval.
TEST(Extrapolate, WhatIsNoLineIsRefusedOrInsideItsInterval) {
  const std::vector<std::pair<const char*, std::function<double(double)>>> programs = {
      {"quadratic", [](double x) { return 5 + x * x / 1e5; }},
      {"square root", [](double x) { return std::sqrt(x); }},
      {"another protocol above 2500", [](double x) { return 3 + (x > 2500 ? x / 40 : x / 100); }},
      {"a slower one below 1500", [](double x) { return x < 1500 ? 20 + x / 50 : 5 + x / 100; }},
      {"waves of 1400", [](double x) { return 5 + 10 * std::ceil(x / 1400); }},
      {"tiles of 900", [](double x) { return 3 + 9 * std::ceil(x / 900); }},
      {"fine tiles of 16", [](double x) { return 3 + 0.16 * std::ceil(x / 16); }},
      {"a second launch above 1500", [](double x) { return (x > 1500 ? 12 : 4) + x / 100; }},
      {"waits at small sizes to look fast at large ones", [](double x) { return std::max(30.0, x / 110) + x / 1000; }},
      {"falls", [](double x) { return 100 - x / 100; }},
      {"does not grow", [](double) { return 40.0; }},
  };
  for (const auto& [name, time] : programs) {
    const auto found = extrapolate(points(time), 40000);
    if (!found) continue;
    const double truth = time(40000) * kMicro;
    EXPECT_LE(found->range.low * 0.999, truth) << name;
    EXPECT_GE(found->range.high * 1.001, truth) << name;
  }
}

TEST(Extrapolate, ARefusalSaysWhy) {
  const auto bent = extrapolate(points([](double x) { return 5 + x * x / 1e5; }), 40000);
  ASSERT_FALSE(bent);
  EXPECT_NE(bent.error().list[0].message.find("not on a line"), std::string::npos);
  const auto flat = extrapolate(points([](double x) { return 40 + x / 1000; }), 40000);
  ASSERT_FALSE(flat);
  EXPECT_NE(flat.error().list[0].message.find("do not grow with the size"), std::string::npos)
      << flat.error().list[0].message;
}

Timing sample(int64_t value, double microseconds, uint64_t bytes) {
  Timing t = {.size = "large", .world = 8, .seconds = microseconds * kMicro};
  t.scale = "n";
  t.samples = {{value, t.seconds}};
  t.moved.peer_out = bytes;
  t.sensitivity = {{"launch", 5 / microseconds}, {"bandwidth", 1 - 5 / microseconds}};
  return t;
}

catalog::Problem problem() {
  catalog::Problem p;
  p.sizes = {{.name = "small", .values = {{"n", 10}}, .timed = true},
             {.name = "large", .values = {{"n", 64000}}, .timed = true, .scale = "n"}};
  for (const int64_t n : {1000, 2000, 3000})
    p.sizes[1].samples.push_back({.name = "large", .values = {{"n", n}}, .timed = true, .scale = "n"});
  return p;
}

TEST(MergeSamples, BytesAndPartsOfTheTimeGrowAsTheTimeDoes) {
  // In the order in which they ran, which is drawn.
  std::vector<Timing> timings = {sample(3000, 35, 3000),
                                 {.size = "small", .world = 8, .seconds = 5 * kMicro},
                                 sample(1000, 15, 1000),
                                 sample(2000, 25, 2000)};
  merge_samples(problem(), timings);
  ASSERT_EQ(timings.size(), 2u);
  EXPECT_EQ(timings[0].size, "small");
  const Timing& large = timings[1];
  EXPECT_EQ(large.refusal, "");
  EXPECT_EQ(large.scale_value, 64000);
  EXPECT_EQ(large.samples.size(), 3u);
  EXPECT_NEAR(large.seconds, 645 * kMicro, 1e-12);
  EXPECT_EQ(large.moved.peer_out, 64000u);
  EXPECT_NEAR(large.sensitivity.at("launch"), 5.0 / 645, 1e-6);
  EXPECT_NEAR(large.sensitivity.at("bandwidth"), 640.0 / 645, 1e-6);
}

TEST(MergeSamples, ARefusedSizeHasTheFiguresOfItsLargestSample) {
  std::vector<Timing> timings = {sample(1000, 15, 1000), sample(2000, 25, 2000), sample(3000, 55, 3000)};
  merge_samples(problem(), timings);
  ASSERT_EQ(timings.size(), 1u);
  EXPECT_NE(timings[0].refusal, "");
  EXPECT_NEAR(timings[0].seconds, 55 * kMicro, 1e-12);
  EXPECT_EQ(timings[0].moved.peer_out, 3000u);
  EXPECT_FALSE(timings[0].line_range.known());
}

TEST(MergeSamples, WhatIsRefusedLaterHasThemToo) {
  std::vector<Timing> timings = {sample(1000, 15, 1000), sample(2000, 25, 2000), sample(3000, 35, 3000)};
  const auto of_largest = timings.back().sensitivity;
  merge_samples(problem(), timings);
  ASSERT_EQ(timings[0].refusal, "");
  ASSERT_EQ(timings[0].moved.peer_out, 64000u);
  use_largest_sample(timings[0], "the baseline's time is not extrapolated");
  EXPECT_NEAR(timings[0].seconds, 35 * kMicro, 1e-12);
  EXPECT_EQ(timings[0].moved.peer_out, 3000u);
  EXPECT_EQ(timings[0].sensitivity, of_largest);
}

TEST(MergeSamples, TimesAreComparedAtTheSameSize) {
  std::vector<Timing> line = {sample(1000, 15, 1000), sample(2000, 25, 2000), sample(3000, 35, 3000)};
  std::vector<Timing> bent = {sample(1000, 15, 1000), sample(2000, 25, 2000), sample(3000, 55, 3000)};
  merge_samples(problem(), line);
  merge_samples(problem(), bent);
  ASSERT_EQ(line[0].refusal, "");
  ASSERT_NE(bent[0].refusal, "");
  const auto [one, other] = comparable_seconds(line[0], bent[0]);
  EXPECT_NEAR(one, 35 * kMicro, 1e-12);
  EXPECT_NEAR(other, 55 * kMicro, 1e-12);
  EXPECT_NEAR(comparable_seconds(line[0], line[0]).second, 645 * kMicro, 1e-12);
}

}  // namespace
}  // namespace fb::judge
