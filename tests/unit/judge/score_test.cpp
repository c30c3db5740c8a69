#include "judge/score/score.h"

#include <gtest/gtest.h>

namespace fb::judge {
namespace {

record::Verdict with(std::vector<record::Timing> timings) {
  record::Verdict verdict;
  verdict.timings = std::move(timings);
  score(verdict);
  return verdict;
}

TEST(Score, IsAGeometricMean) {
  // Twice and eight times as fast as the reference; a quarter and the whole of what is possible.
  const auto v = with({{.size = "a", .world = 4, .seconds = 2, .reference_seconds = 4, .limit_seconds = 0.5},
                       {.size = "b", .world = 4, .seconds = 1, .reference_seconds = 8, .limit_seconds = 1}});
  ASSERT_TRUE(v.speed && v.sol);
  EXPECT_DOUBLE_EQ(*v.speed, 4);
  EXPECT_DOUBLE_EQ(*v.sol, 0.5);
}

TEST(Score, TheReferenceItselfHasSpeedOne) {
  const auto v = with({{.size = "a", .world = 2, .seconds = 3e-6, .reference_seconds = 3e-6},
                       {.size = "b", .world = 2, .seconds = 7e-6, .reference_seconds = 7e-6}});
  EXPECT_DOUBLE_EQ(v.speed.value(), 1);
}

TEST(Score, IsRelativeToTheBaselineWhereThereIsOne) {
  const auto v = with({{.size = "a", .world = 2, .seconds = 2, .reference_seconds = 1, .baseline_seconds = 6}});
  EXPECT_DOUBLE_EQ(v.speed.value(), 3);
  EXPECT_TRUE(v.has_baseline());
}

TEST(Score, IsEmptyWithoutTimes) {
  const auto v = with({});
  EXPECT_FALSE(v.speed);
  EXPECT_FALSE(v.sol);
}

TEST(Score, WhatWasNotMeasuredDoesNotCount) {
  const auto v = with({{.size = "a", .world = 2, .seconds = 1, .reference_seconds = 0, .limit_seconds = 0.5},
                       {.size = "b", .world = 2, .seconds = 1, .reference_seconds = 3, .limit_seconds = 0},
                       {.size = "c", .world = 2, .seconds = 0, .reference_seconds = 9, .limit_seconds = 9}});
  EXPECT_DOUBLE_EQ(v.speed.value(), 3);
  EXPECT_DOUBLE_EQ(v.sol.value(), 0.5);
  EXPECT_FALSE(with({{.size = "a", .world = 2, .seconds = 1, .limit_seconds = 1}}).speed);
}

class Limit : public testing::Test {
 protected:
  Limit() {
    problem_.parameters = {{"n", ""}};
    problem_.cost.link_bytes = catalog::Expression::parse("(world - 1) * n").value();
    problem_.cost.memory_bytes = catalog::Expression::parse("8 * n").value();
    problem_.cost.least_link_bytes = problem_.cost.link_bytes;
    size_.values = {{"n", 1000}};
    platform_.peer.copy_bandwidth = 100;
    platform_.memory.bandwidth = 1000;
  }
  catalog::Problem problem_;
  catalog::SizeClass size_;
  platform::Platform platform_;
};

TEST_F(Limit, TheFloorIsWhatTheLinksNeed) {
  EXPECT_DOUBLE_EQ(floor_seconds(problem_, size_, 2, platform_), 10);
  EXPECT_DOUBLE_EQ(floor_seconds(problem_, size_, 5, platform_), 40);
}

TEST_F(Limit, TheFloorMayBeLowerThanWhatTheAlgorithmMoves) {
  problem_.cost.least_link_bytes = catalog::Expression::parse("n / 2").value();
  EXPECT_DOUBLE_EQ(floor_seconds(problem_, size_, 2, platform_), 5);
  EXPECT_DOUBLE_EQ(limit_seconds(problem_, size_, 2, platform_), 10);
}

TEST_F(Limit, AnySolutionIsLaunched) {
  platform_.kernel.launch = 3'000'000'000'000;  // picoseconds
  platform_.kernel.graph_launch = 2'000'000'000'000;
  platform_.kernel.end = 500'000'000'000;
  EXPECT_DOUBLE_EQ(limit_seconds(problem_, size_, 2, platform_), 12.5);
}

TEST_F(Limit, ProductsOnTensorCoresHaveALimit) {
  platform_.tensor.products = 100;
  platform_.device.sms = 2;
  platform_.device.clock = 10;
  problem_.cost.tensor_flops = catalog::Expression::parse("100 * n").value();
  EXPECT_DOUBLE_EQ(limit_seconds(problem_, size_, 2, platform_), 25);
}

TEST_F(Limit, TheLimitIsTheSlowerOfLinksAndMemory) {
  EXPECT_DOUBLE_EQ(limit_seconds(problem_, size_, 2, platform_), 10);
  platform_.memory.bandwidth = 200;
  EXPECT_DOUBLE_EQ(limit_seconds(problem_, size_, 2, platform_), 40);
  EXPECT_DOUBLE_EQ(limit_seconds(problem_, size_, 5, platform_), 40);
}

TEST_F(Limit, NetworkCardsHaveOne) {
  problem_.cost.network_bytes = catalog::Expression::parse("2 * n").value();
  problem_.cost.least_network_bytes = catalog::Expression::parse("n").value();
  EXPECT_DOUBLE_EQ(limit_seconds(problem_, size_, 2, platform_), 10) << "there are none";
  platform_.nic.per_node = 1;
  platform_.nic.bandwidth = 10;
  EXPECT_DOUBLE_EQ(limit_seconds(problem_, size_, 2, platform_), 200);
  EXPECT_DOUBLE_EQ(floor_seconds(problem_, size_, 2, platform_), 100);
}

TEST_F(Limit, MessagesThatWaitForEachOtherTakeTheirTime) {
  problem_.cost.network_hops = catalog::Expression::parse("3").value();
  platform_.nic.inline_start = 4'000'000'000'000;  // picoseconds
  platform_.nic.wire = 5'000'000'000'000;
  platform_.nic.loopback = 6'000'000'000'000;
  platform_.nic.deliver = 1'000'000'000'000;
  EXPECT_DOUBLE_EQ(limit_seconds(problem_, size_, 2, platform_), 30);
}

TEST_F(Limit, WhatNoKernelMovesIsNotLaunched) {
  platform_.kernel.launch = platform_.kernel.graph_launch = 3'000'000'000'000;
  problem_.cost.memory_bytes = catalog::Expression::parse("0").value();
  EXPECT_DOUBLE_EQ(limit_seconds(problem_, size_, 2, platform_), 10);
}

TEST_F(Limit, IsMadeOfThePeaks) {
  const record::Peaks peaks = peaks_of(platform_);
  EXPECT_EQ(peaks.link_bytes_per_second, platform_.peer.copy_bandwidth);
  EXPECT_EQ(peaks.memory_bytes_per_second, platform_.memory.bandwidth);
  EXPECT_EQ(peaks.tensor_flops_per_second,
            2.0 * platform_.tensor.products * platform_.device.sms * platform_.device.clock);
}

}  // namespace
}  // namespace fb::judge
