#include "audit/calibrate/plot.h"

#include <gtest/gtest.h>

namespace fb::calibrate {
namespace {

size_t count(const std::string& text, const std::string& what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(Plot, HasAMarkForEachPoint) {
  const Curve curve{.id = "a", .points = {{1024, 10}, {4096, 20}, {1048576, 400}}};
  const std::string svg = plot_svg(curve, {.microseconds = {11, 19, 390}, .extrapolated = {false, false, true}});
  EXPECT_EQ(count(svg, "<circle"), 3u);
  EXPECT_EQ(count(svg, "<path"), 3u);
  EXPECT_EQ(count(svg, "fill=\"#fff\""), 1u) << "what is extrapolated is hollow";
  EXPECT_NE(svg.find(">64K<"), std::string::npos) << svg;
  EXPECT_NE(svg.find(">100 us<"), std::string::npos) << svg;
}

TEST(Plot, OfOnePointIsNoDivisionByZero) {
  const std::string svg = plot_svg({.id = "a", .points = {{1, 5.3}}}, {.microseconds = {4.9}, .extrapolated = {false}});
  EXPECT_EQ(svg.find("nan"), std::string::npos) << svg;
  EXPECT_EQ(svg.find("inf"), std::string::npos) << svg;
}

}  // namespace
}  // namespace fb::calibrate
