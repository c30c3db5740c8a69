#include "virtual_node/machine/libraries/collective/reduction.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "virtual_node/num/half.h"

namespace fb::machine {
namespace {

using wire::ElementType;
using wire::ReduceOp;

template <class T>
std::vector<T> reduced(Reduction how, const std::vector<std::vector<T>>& ranks, std::vector<uint64_t> scalars = {}) {
  std::vector<ReductionInput> inputs;
  for (size_t k = 0; k < ranks.size(); ++k)
    inputs.push_back({reinterpret_cast<const std::byte*>(ranks[k].data()), k < scalars.size() ? scalars[k] : 0});
  how.ranks = static_cast<uint32_t>(ranks.size());
  std::vector<T> out(ranks[0].size());
  reduce(how, inputs, reinterpret_cast<std::byte*>(out.data()), out.size());
  return out;
}

uint16_t bf16(float x) { return num::f32_to_bf16(x); }

TEST(Reduction, AddsInTheOrderOfItsInputs) {
  // In f32, 1 is lost beside 2^25 and is not lost where it meets its like first.
  const float large = 33554432, small = 1;
  const Reduction sum{ElementType::f32, ReduceOp::sum, Accumulation::rounded_at_each_hop};
  EXPECT_EQ(reduced<float>(sum, {{large}, {small}, {small}, {small}, {small}})[0], large);
  EXPECT_EQ(reduced<float>(sum, {{small}, {small}, {small}, {small}, {large}})[0], large + 4);
}

TEST(Reduction, RingsRoundToTheTypeAtEachHopAndTheSwitchOnce) {
  // 256 + 1 + 1 + 1 + 1 in bf16, whose steps are 2 there.
  const std::vector<std::vector<uint16_t>> ranks = {{bf16(256)}, {bf16(1)}, {bf16(1)}, {bf16(1)}, {bf16(1)}};
  EXPECT_EQ(reduced<uint16_t>({ElementType::bf16, ReduceOp::sum, Accumulation::rounded_at_each_hop}, ranks)[0],
            bf16(256));
  EXPECT_EQ(reduced<uint16_t>({ElementType::bf16, ReduceOp::sum, Accumulation::in_f32}, ranks)[0], bf16(260));
}

TEST(Reduction, IntegersWrapAroundAndTheirAverageDividesTheSum) {
  const Reduction sum{ElementType::i8, ReduceOp::sum, Accumulation::rounded_at_each_hop};
  EXPECT_EQ(reduced<int8_t>(sum, {{100}, {100}})[0], static_cast<int8_t>(200));
  const Reduction average{ElementType::i32, ReduceOp::average, Accumulation::rounded_at_each_hop};
  EXPECT_EQ(reduced<int32_t>(average, {{3}, {4}, {4}})[0], 3);
  EXPECT_EQ(reduced<int32_t>(average, {{-3}, {-4}})[0], -3);
}

TEST(Reduction, TheAverageOfFloatsMultipliesFirst) {
  // 1/3 rounded to bf16 is 0.33398, so that three times 3 is no 3.
  const Reduction average{ElementType::bf16, ReduceOp::average, Accumulation::rounded_at_each_hop};
  const float third = num::bf16_to_f32(bf16(1.0f / 3));
  const float one = num::bf16_to_f32(bf16(3 * third));
  const float two = num::bf16_to_f32(bf16(one + one));
  EXPECT_EQ(reduced<uint16_t>(average, {{bf16(3)}, {bf16(3)}, {bf16(3)}})[0], bf16(two + one));
}

TEST(Reduction, EachRankHasItsScalar) {
  std::vector<uint64_t> scalars(2);
  const float two = 2, ten = 10;
  std::memcpy(&scalars[0], &two, sizeof two);
  std::memcpy(&scalars[1], &ten, sizeof ten);
  const Reduction scaled{ElementType::f32, ReduceOp::scaled_sum, Accumulation::rounded_at_each_hop};
  EXPECT_EQ(reduced<float>(scaled, {{1, 2}, {3, 4}}, scalars), (std::vector<float>{32, 44}));
}

TEST(Reduction, MinimaAndMaximaIgnoreNan) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(reduced<double>({ElementType::f64, ReduceOp::max, Accumulation::rounded_at_each_hop}, {{nan}, {2}})[0], 2);
  EXPECT_EQ(reduced<double>({ElementType::f64, ReduceOp::min, Accumulation::rounded_at_each_hop}, {{2}, {nan}})[0], 2);
}

TEST(Reduction, AnInputMayBeTheOutput) {
  std::vector<float> a(5000, 1), b(5000, 2);
  const std::vector<ReductionInput> inputs = {{reinterpret_cast<const std::byte*>(a.data()), 0},
                                              {reinterpret_cast<const std::byte*>(b.data()), 0}};
  reduce({ElementType::f32, ReduceOp::sum, Accumulation::rounded_at_each_hop, 2}, inputs,
         reinterpret_cast<std::byte*>(a.data()), a.size());
  EXPECT_EQ(a, std::vector<float>(5000, 3));
}

TEST(Reduction, WhatTheSwitchAddsIsWhatNcclGivesIt) {
  EXPECT_TRUE(switch_reduces(ElementType::bf16, ReduceOp::max));
  EXPECT_TRUE(switch_reduces(ElementType::f32, ReduceOp::sum));
  EXPECT_FALSE(switch_reduces(ElementType::f32, ReduceOp::max));
  EXPECT_FALSE(switch_reduces(ElementType::e4m3, ReduceOp::sum));
  EXPECT_FALSE(switch_reduces(ElementType::bf16, ReduceOp::average));
}

}  // namespace
}  // namespace fb::machine
