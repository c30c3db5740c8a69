#include "audit/calibrate/curves.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "scratch_folder.h"

namespace fb::calibrate {
namespace {

// A folder of one's own, as the variable names it.
class OwnCurves : public testing::Test {
 protected:
  Result<Curves> load(const std::string& text) {
    folder_.write("curves.toml", text);
    setenv("FABRICBENCH_CALIBRATION", folder_.path().c_str(), 1);
    auto curves = load_curves("p");
    unsetenv("FABRICBENCH_CALIBRATION");
    return curves;
  }
  static std::string curve(const std::string& id, const std::string& more) {
    return "[[curve]]\nid = \"" + id + "\"\nabout = \"x\"\nplatform = \"p\"\nsplit = \"fit\"\nprogram = \"x\"\n" +
           more + "\n";
  }
  static constexpr const char* kPair = "[[pair]]\ncurves = [\"a\", \"b\"]\n";

  ScratchFolder folder_;
};

TEST_F(OwnCurves, AreReadWithWhatTheirHostDid) {
  const auto curves = load("[harness.h]\nbefore = 3.0\nsource = \"x\"\n" +
                           curve("a", "ranks = 2\nexact = 100\nharness = \"h\"\npoints = [[1, 2.5], [200, 3]]") +
                           curve("b", "ranks_are_sizes = true\npoints = [[2, 1.0]]") + kPair);
  ASSERT_TRUE(curves) << to_string(curves.error(), "");
  EXPECT_EQ(curves->curves[0].exact, 100u);
  EXPECT_DOUBLE_EQ(curves->curves[0].harness.before, 3);
  EXPECT_DOUBLE_EQ(curves->curves[0].points[1].microseconds, 3);
  EXPECT_EQ(curves->curves[1].ranks, 0u);
  EXPECT_FALSE(curves->curves[0].cards);
  ASSERT_EQ(curves->pairs.size(), 1u);
}

TEST_F(OwnCurves, CopiesOfTheHostCostTimeByBytes) {
  const auto curves = load("[harness.h]\ncopies = 2\ncopy_bandwidth = 20.0\nsource = \"x\"\n" +
                           curve("a", "ranks = 1\ncards = true\nharness = \"h\"\npoints = [[1, 2.5]]") + kPair);
  ASSERT_TRUE(curves) << to_string(curves.error(), "");
  EXPECT_TRUE(curves->curves[0].cards);
  EXPECT_DOUBLE_EQ(curves->curves[0].harness.per_byte, 1e-4);
  EXPECT_FALSE(
      load("[harness.h]\ncopies = 2\nsource = \"x\"\n" + curve("a", "ranks = 1\npoints = [[1, 2.5]]") + kPair));
}

TEST_F(OwnCurves, AreCheckedStrictly) {
  const auto complaint = [&](const std::string& more) {
    const auto curves = load(curve("a", more) + kPair);
    return curves ? std::string() : to_string(curves.error(), "");
  };
  EXPECT_NE(complaint("ranks = 2\npoints = [[5, 1.0], [5, 2.0]]").find("sizes grow"), std::string::npos);
  EXPECT_NE(complaint("ranks = 2\nharness = \"none\"\npoints = [[5, 1.0]]").find("no harness 'none'"),
            std::string::npos);
  EXPECT_NE(complaint("ranks = 2\nsize = 3\npoints = [[5, 1.0]]").find("size"), std::string::npos);
}

TEST(Curves, OfThisProjectHaveTheirPrograms) {
  const auto curves = load_curves("b300x8");
  ASSERT_TRUE(curves) << to_string(curves.error(), "");
  EXPECT_EQ(curves->curves.size(), 20u);
  EXPECT_EQ(curves->pairs.size(), 10u);
  size_t points = 0;
  for (const Curve& curve : curves->curves) {
    EXPECT_TRUE(std::filesystem::exists(curves->folder + "/" + curve.program + ".cu")) << curve.id;
    points += curve.points.size();
  }
  EXPECT_EQ(points, 103u);
}

TEST(Curves, ThatWereNeverMeasuredAreAnError) {
  const auto curves = load_curves("pcie_x4");
  ASSERT_FALSE(curves);
  EXPECT_EQ(curves.error().list[0].message, "no curve was measured on 'pcie_x4'");
}

}  // namespace
}  // namespace fb::calibrate
