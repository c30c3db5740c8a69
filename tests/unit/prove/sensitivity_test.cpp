#include "audit/prove/sensitivity.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "prove/fixture.h"

namespace fb::prove {
namespace {

std::string insensitivity(const std::string& name, int world = 3) {
  const Fixture fixture(name);
  return find_insensitivity(fixture.layout(world), fixture.oracle(), 11);
}

std::string nondeterminism(const std::string& name) {
  const Fixture fixture(name);
  return find_nondeterminism(fixture.layout(2), fixture.oracle(), 11);
}

TEST(Sensitivity, NothingIsFoundInASoundOracle) {
  EXPECT_EQ(insensitivity("sound"), "");
  EXPECT_EQ(insensitivity("sound", 2), "");
}

TEST(Sensitivity, AnInputThatDoesNotMatterIsFound) {
  EXPECT_EQ(insensitivity("ignores_input"), "no expected value depends on `scale`");
}

TEST(Sensitivity, OtherRanksThatDoNotMatterAreFound) {
  EXPECT_EQ(insensitivity("ignores_others"), "no expected value depends on another rank's input");
}

TEST(Sensitivity, AReplicatedInputMattersAndIsNoOtherRanks) {
  const Fixture fixture("grouped");
  const judge::Layout layout = fixture.layout(4);
  const judge::CallData call(layout, fixture.oracle(), 11, 0);
  EXPECT_TRUE(std::ranges::equal(call.input(0, 1), call.input(3, 1))) << "`scale` is the same on all ranks";
  EXPECT_FALSE(std::ranges::equal(call.input(0, 0), call.input(3, 0))) << "`in` is not";
  EXPECT_EQ(insensitivity("grouped", 4), "");
  EXPECT_EQ(insensitivity("grouped", 2), "");
}

TEST(Sensitivity, OneRankHasNoOthers) { EXPECT_EQ(insensitivity("ignores_others", 1), ""); }

TEST(Sensitivity, WhatIsAlwaysTheSameDependsOnNothing) {
  EXPECT_EQ(insensitivity("always_zero"), "no expected value depends on `in`");
}

TEST(Sensitivity, ADifferenceWithinTheBoundIsNone) {
  EXPECT_EQ(insensitivity("loose_bound"), "no expected value depends on `in`");
}

TEST(Determinism, NothingIsFoundInASoundOracle) { EXPECT_EQ(nondeterminism("sound"), ""); }

TEST(Determinism, AnswersThatChangeAreFound) {
  EXPECT_EQ(nondeterminism("nondeterministic"), "`out` is expected differently at the second evaluation");
}

TEST(Determinism, InputsThatChangeAreFound) {
  EXPECT_EQ(nondeterminism("nondeterministic_fill"), "`in` is filled differently at the second evaluation");
}

TEST(Determinism, SeedsThatDoNotMatterAreFound) {
  EXPECT_EQ(nondeterminism("always_zero"), "two seeds give the same expected values");
}

}  // namespace
}  // namespace fb::prove
