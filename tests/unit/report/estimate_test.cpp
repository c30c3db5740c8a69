#include "campaign/report/estimate.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include "common/base/rng.h"

namespace fb::report {
namespace {

// Of all ways to choose k of n samples, the share with at least one of the first `passed`.
double by_enumeration(uint32_t samples, uint32_t passed, uint32_t k) {
  uint32_t chosen = 0, hits = 0;
  for (uint32_t set = 0; set < (1U << samples); ++set) {
    if (std::popcount(set) != static_cast<int>(k)) continue;
    ++chosen;
    if ((set & ((1U << passed) - 1)) != 0) ++hits;
  }
  return static_cast<double>(hits) / chosen;
}

TEST(Estimate, PassAtKIsWhatAllChoicesOfSamplesSay) {
  for (uint32_t samples = 1; samples <= 10; ++samples) {
    for (uint32_t passed = 0; passed <= samples; ++passed) {
      for (uint32_t k = 1; k <= samples; ++k)
        EXPECT_NEAR(pass_at_k(samples, passed, k), by_enumeration(samples, passed, k), 1e-12)
            << passed << " of " << samples << ", k = " << k;
    }
  }
}

TEST(Estimate, PassAtKHasNoOverflow) {
  EXPECT_NEAR(pass_at_k(100000, 50000, 1), 0.5, 1e-9);
  EXPECT_EQ(pass_at_k(100000, 50000, 60000), 1);  // more than failed
  EXPECT_EQ(pass_at_k(100000, 0, 60000), 0);
}

// Of any printed table of Student's t.
TEST(Estimate, StudentsQuantilesAreThoseOfTheTables) {
  EXPECT_NEAR(student_975(1), 12.7062, 5e-5);
  EXPECT_NEAR(student_975(2), 4.3027, 5e-5);
  EXPECT_NEAR(student_975(3), 3.1824, 5e-5);
  EXPECT_NEAR(student_975(4), 2.7764, 5e-5);
  EXPECT_NEAR(student_975(9), 2.2622, 5e-5);
  EXPECT_NEAR(student_975(23), 2.0687, 5e-5);
  EXPECT_NEAR(student_975(100), 1.9840, 5e-5);
  EXPECT_NEAR(student_975(5000), 1.9604, 5e-5);
}

TEST(Estimate, WilsonsIntervalIsThatOfTheBooks) {
  // 15 of 50: centre (0.3 + 3.8415/100) / (1 + 3.8415/50) = 0.31427, half 1.96 / 1.07683 × sqrt(0.0042 + 0.000384) =
  // 0.12324
  const Interval some = wilson(0.3, 50);
  EXPECT_NEAR(some.low, 0.1910, 1e-4);
  EXPECT_NEAR(some.high, 0.4375, 1e-4);
  // None of 10: 0 … z² / (10 + z²) = 3.8415 / 13.8415
  EXPECT_EQ(wilson(0, 10).low, 0);
  EXPECT_NEAR(wilson(0, 10).high, 0.2775, 1e-4);
  EXPECT_EQ(wilson(1, 10).high, 1);
  EXPECT_NEAR(wilson(1, 10).low, 1 - 0.2775, 1e-4);
}

TEST(Estimate, OneSampleEachMakesAShareOfProblemsOneTrialEach) {
  const std::vector<double> shares = {1, 0, 1, 1};
  const Estimate e = mean_share(shares, 4);
  EXPECT_EQ(e.value, 0.75);
  EXPECT_EQ(e.interval, wilson(0.75, 4));
}

TEST(Estimate, SharesThatAgreeAreWorthAllTheirSamples) {
  // Four problems, each 5 of 10: nothing speaks for a difference between problems, so there are 40 trials.
  const std::vector<double> shares(4, 0.5);
  EXPECT_EQ(mean_share(shares, 40).interval, wilson(0.5, 40));
  // Half of the problems always, half never: four trials, however many samples.
  const std::vector<double> extremes = {0, 1, 0, 1};
  EXPECT_EQ(mean_share(extremes, 40).interval, wilson(0.5, 4));
  // All passed: what a new problem would do is not known any better.
  const std::vector<double> passed(4, 1);
  EXPECT_EQ(mean_share(passed, 40).interval, wilson(1, 4));
}

TEST(Estimate, SharesInBetweenAreWorthWhatTheyVary) {
  // Mean 0.5, variance ((0.25² + 0.25²) × 2) / 3 = 1/12; 0.25 / (1/12) = 3 trials for each of 4 problems = 12; Student
  // with 3 degrees of freedom takes (1.959964 / 3.182446)² = 0.379291: 4.551.
  const std::vector<double> shares = {0.25, 0.75, 0.25, 0.75};
  const Interval expected = wilson(0.5, 12 * 0.3792911);
  const Estimate e = mean_share(shares, 40);
  EXPECT_NEAR(e.interval->low, expected.low, 1e-6);
  EXPECT_NEAR(e.interval->high, expected.high, 1e-6);
}

TEST(Estimate, NothingHasNoValueAndOneRatioNoInterval) {
  EXPECT_EQ(mean_share({}, 0), Estimate{});
  EXPECT_EQ(geometric_mean({}), Estimate{});
  const std::vector<double> one = {std::log(0.8)};
  EXPECT_NEAR(*geometric_mean(one).value, 0.8, 1e-12);
  EXPECT_FALSE(geometric_mean(one).interval);
}

TEST(Estimate, AGeometricMeanHasStudentsIntervalOfLogarithms) {
  // ln 1, ln 2, ln 4: mean ln 2, standard deviation ln 2; half = 4.30265 × ln 2 / sqrt 3 = 1.72189
  const std::vector<double> logarithms = {0, std::numbers::ln2, 2 * std::numbers::ln2};
  const Estimate e = geometric_mean(logarithms);
  EXPECT_NEAR(*e.value, 2, 1e-12);
  EXPECT_NEAR(e.interval->low, 2 / std::exp(1.72189), 1e-4);
  EXPECT_NEAR(e.interval->high, 2 * std::exp(1.72189), 1e-3);
}

TEST(Estimate, ErrorsOfTheRatiosThemselvesWidenTheirMean) {
  const Estimate mean{2.0, Interval{2 * std::exp(-0.3), 2 * std::exp(0.3)}};
  const Estimate wide = widened(mean, std::vector{0.4, 0.4, 0.4});
  EXPECT_DOUBLE_EQ(*wide.value, 2);
  EXPECT_NEAR(wide.interval->low, 2 * std::exp(-0.5), 1e-12);
  EXPECT_NEAR(wide.interval->high, 2 * std::exp(0.5), 1e-12);
  EXPECT_NEAR(widened(mean, std::vector{0.0, 0.8}).interval->high, 2 * std::exp(0.5), 1e-12) << "their mean";
  EXPECT_NEAR(widened(mean, std::vector{0.0, 0.0}).interval->high, mean.interval->high, 1e-12);
  EXPECT_EQ(widened(mean, {}), mean);
  EXPECT_EQ(widened({2.0, std::nullopt}, std::vector{0.4}), (Estimate{2.0, std::nullopt}));
}

TEST(Estimate, AProductsErrorsAddAsIndependentOnes) {
  // Factors 2 below and 1.5 above, and 1.2 both ways; in logarithms: sqrt(ln² 2 + ln² 1.2), sqrt(ln² 1.5 + ln² 1.2)
  const Estimate share{0.5, Interval{0.25, 0.75}}, mean{0.8, Interval{0.8 / 1.2, 0.8 * 1.2}};
  const Estimate e = product(share, mean);
  EXPECT_NEAR(*e.value, 0.4, 1e-12);
  EXPECT_NEAR(e.interval->low, 0.4 * std::exp(-std::sqrt(0.480453 + 0.033242)), 1e-5);
  EXPECT_NEAR(e.interval->high, 0.4 * std::exp(std::sqrt(0.164402 + 0.033242)), 1e-5);
}

TEST(Estimate, AProductWithNothingPassedIsZero) {
  const Estimate none{0.0, Interval{0, 0.3}};
  EXPECT_EQ(product(none, {}), (Estimate{0.0, Interval{0, 0.3}}));
  EXPECT_EQ(product({}, {}), Estimate{});
  // Passed, but without speeds.
  EXPECT_EQ(product({0.5, Interval{0.2, 0.8}}, {}), Estimate{});
  // One speed has no interval, so the product has none.
  EXPECT_EQ(product({0.5, Interval{0.2, 0.8}}, {0.8, std::nullopt}), (Estimate{0.4, std::nullopt}));
}

TEST(Estimate, IntervalsThatTouchOrAreMissingOverlap) {
  const Estimate low{0.2, Interval{0.1, 0.3}}, middle{0.4, Interval{0.3, 0.5}}, high{0.8, Interval{0.7, 0.9}};
  EXPECT_TRUE(overlap(low, middle));
  EXPECT_TRUE(overlap(middle, low));
  EXPECT_FALSE(overlap(low, high));
  EXPECT_FALSE(overlap(high, middle));
  EXPECT_TRUE(overlap(low, {0.9, std::nullopt}));
}

// Coverage: how often an interval holds what it is about, in 2000 drawn campaigns

double uniform(Rng& rng) { return static_cast<double>(rng.next() >> 11) * 0x1p-53; }
double normal(Rng& rng) {
  const double radius = std::sqrt(-2 * std::log(1 - uniform(rng)));
  return radius * std::cos(2 * std::numbers::pi * uniform(rng));
}

constexpr int kCampaigns = 2000;

// `draw` gives a new problem's probability of a pass; its mean is `truth`.
double coverage_of_rates(int problems, int samples, double truth, const std::function<double(Rng&)>& draw) {
  Rng rng(7);
  int held = 0;
  for (int campaign = 0; campaign < kCampaigns; ++campaign) {
    std::vector<double> shares;
    for (int problem = 0; problem < problems; ++problem) {
      const double chance = draw(rng);
      int passed = 0;
      for (int sample = 0; sample < samples; ++sample) passed += uniform(rng) < chance ? 1 : 0;
      shares.push_back(static_cast<double>(passed) / samples);
    }
    const Interval interval = *mean_share(shares, problems * samples).interval;
    held += interval.low <= truth && truth <= interval.high ? 1 : 0;
  }
  return static_cast<double>(held) / kCampaigns;
}

TEST(EstimateCoverage, RatesOf24ProblemsAreHeldIn95Of100Campaigns) {
  const auto always_or_never = [](double share) {
    return [share](Rng& rng) { return uniform(rng) < share ? 1.0 : 0.0; };
  };
  const auto all_alike = [](double chance) { return [chance](Rng&) { return chance; }; };
  const auto any = [](Rng& rng) { return uniform(rng); };
  const auto mostly_hopeless = [](Rng& rng) { return uniform(rng) < 0.8 ? 0.0 : uniform(rng); };
  for (const int samples : {1, 4, 10}) {
    EXPECT_GT(coverage_of_rates(24, samples, 0.5, always_or_never(0.5)), 0.92) << samples;
    EXPECT_GT(coverage_of_rates(24, samples, 0.95, always_or_never(0.95)), 0.92) << samples;
    EXPECT_GT(coverage_of_rates(24, samples, 0.5, all_alike(0.5)), 0.92) << samples;
    EXPECT_GT(coverage_of_rates(24, samples, 0.9, all_alike(0.9)), 0.92) << samples;
    EXPECT_GT(coverage_of_rates(24, samples, 0.5, any), 0.92) << samples;
    EXPECT_GT(coverage_of_rates(24, samples, 0.1, mostly_hopeless), 0.92) << samples;
  }
  // Nor are they as wide as they can be: 0.98 and more would be a waste.
  EXPECT_LT(coverage_of_rates(24, 4, 0.5, any), 0.98);
  EXPECT_LT(coverage_of_rates(24, 10, 0.5, all_alike(0.5)), 0.98);
}

TEST(EstimateCoverage, PassTimesSpeedIsHeldIn95Of100Campaigns) {
  for (const double chance : {0.3, 0.6, 0.9}) {
    for (const double spread : {0.1, 0.5, 1.0}) {
      Rng rng(9);
      const double truth = chance * std::exp(-0.2);
      int held = 0, told = 0;
      for (int campaign = 0; campaign < kCampaigns; ++campaign) {
        std::vector<double> shares, logarithms;
        for (int problem = 0; problem < 24; ++problem) {
          const bool passed = uniform(rng) < chance;
          shares.push_back(passed ? 1 : 0);
          if (passed) logarithms.push_back(-0.2 + spread * normal(rng));
        }
        const Estimate e = product(mean_share(shares, 24), geometric_mean(logarithms));
        if (!e.interval) continue;  // one pass or none
        ++told;
        held += e.interval->low <= truth && truth <= e.interval->high ? 1 : 0;
      }
      EXPECT_GT(told, kCampaigns * 99 / 100);
      EXPECT_GT(static_cast<double>(held) / told, 0.93) << chance << " " << spread;
      EXPECT_LT(static_cast<double>(held) / told, 0.98) << chance << " " << spread;
    }
  }
}

}  // namespace
}  // namespace fb::report
