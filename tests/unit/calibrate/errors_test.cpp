#include "audit/calibrate/errors.h"

#include <gtest/gtest.h>

namespace fb::calibrate {
namespace {

Curves two_curves() {
  Curves curves;
  curves.curves = {{.id = "a", .split = CurveUse::fit, .points = {{100, 10}, {400, 20}, {1600, 40}}},
                   {.id = "b", .split = CurveUse::held_out, .points = {{200, 20}, {800, 20}}}};
  curves.pairs = {{0, 1}};
  return curves;
}

TEST(Errors, AreRelativeAndSigned) {
  const Curves curves = two_curves();
  const auto errors = errors_of(curves.curves[0], {.microseconds = {11, 18, 40}, .extrapolated = {false, false, true}});
  ASSERT_EQ(errors.size(), 3u);
  EXPECT_NEAR(errors[0], 0.1, 1e-12);
  EXPECT_NEAR(errors[1], -0.1, 1e-12);
  EXPECT_DOUBLE_EQ(errors[2], 0);
}

TEST(Errors, SpreadKnowsMedianAndTail) {
  const Spread s = spread_of({0.1, -0.5, 0.2, 0.3, 0.0, -0.1, 0.2, 0.1, 0.1, 0.05});
  EXPECT_EQ(s.points, 10u);
  EXPECT_DOUBLE_EQ(s.median, 0.1);
  EXPECT_DOUBLE_EQ(s.p90, 0.3);
  EXPECT_DOUBLE_EQ(s.max, 0.5);
  EXPECT_EQ(spread_of({}).points, 0u);
}

TEST(Errors, SplitsAreKeptApart) {
  const Summary s = summarise(two_curves(), {{{10, 20, 40}, {}}, {{30, 30}, {}}});
  EXPECT_EQ(s.fit.points, 3u);
  EXPECT_DOUBLE_EQ(s.fit.max, 0);
  EXPECT_EQ(s.held_out.points, 2u);
  EXPECT_DOUBLE_EQ(s.held_out.median, 0.5);
}

TEST(Order, IsComparedWhereMeasuredTimesDifferClearly) {
  // Measured: a has 14.1 at 200, 20 at 400, 28.3 at 800; b has 20 throughout. At 400 they are alike.
  const auto right = compare_orders(two_curves(), {{{10, 20, 40}, {}}, {{20, 20}, {}}});
  ASSERT_EQ(right.size(), 2u);
  EXPECT_EQ(right[0].size, 200u);
  EXPECT_NEAR(right[0].measured, 0.707, 1e-3);
  EXPECT_EQ(right[1].size, 800u);
  EXPECT_NEAR(right[1].measured, 1.414, 1e-3);
  EXPECT_TRUE(right[0].right() && right[1].right());
  const auto wrong = compare_orders(two_curves(), {{{10, 20, 40}, {}}, {{10, 40}, {}}});
  EXPECT_FALSE(wrong[0].right());
  EXPECT_FALSE(wrong[1].right());
}

}  // namespace
}  // namespace fb::calibrate
