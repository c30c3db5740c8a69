#include "audit/calibrate/figures.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>

#include "audit/calibrate/figures_model.h"
#include "audit/calibrate/figures_report.h"
#include "scratch_folder.h"

namespace fb::calibrate {
namespace {

// A folder of one's own, as the variable names it.
class OwnFigures : public testing::Test {
 protected:
  Result<Figures> load(const std::string& figures) {
    folder_.write("curves.toml", "");
    folder_.write("inside/figures.toml", "[arch]\np = \"sm_90a\"\n[source]\ns = \"somewhere\"\n" + figures);
    setenv("FABRICBENCH_CALIBRATION", folder_.path().c_str(), 1);
    auto read = load_figures("p");
    unsetenv("FABRICBENCH_CALIBRATION");
    return read;
  }
  static std::string figure(const std::string& id, const std::string& more) {
    return "[[figure]]\nid = \"" + id + "\"\ngroup = \"g\"\nwhat = \"x\"\nplatform = \"p\"\nprogram = \"x\"\n" + more +
           "\n";
  }
  std::string complaint(const std::string& figures) {
    const auto read = load(figures);
    return read ? std::string() : to_string(read.error(), "");
  }
  static constexpr const char* kGood = "set = \"fit\"\nvalue = 4\nunit = \"cycles\"\nsource = \"s\"";

  ScratchFolder folder_;
};

TEST_F(OwnFigures, AreReadWithWhatTheyAreComparedBy) {
  const auto read = load(figure("a", std::string(kGood) + "\narguments = \"tile  4\"\npeak = 2\nclock = 1755") +
                         figure("b", "set = \"held_out\"\nvalue = 2.5\nunit = \"GB/s\"\nsource = \"s\""));
  ASSERT_TRUE(read) << to_string(read.error(), "");
  EXPECT_EQ(read->arch, "sm_90a");
  EXPECT_EQ(read->folder, folder_.path() + "/inside");
  ASSERT_EQ(read->figures.size(), 2u);
  const Figure& a = read->figures[0];
  EXPECT_EQ(a.arguments, (std::vector<std::string>{"tile", "4"}));
  EXPECT_EQ(a.set, CurveUse::fit);
  EXPECT_EQ(a.source, "somewhere");
  EXPECT_DOUBLE_EQ(a.value, 4);
  EXPECT_DOUBLE_EQ(a.peak.value(), 2);
  EXPECT_DOUBLE_EQ(a.clock.value(), 1755);
  EXPECT_EQ(read->figures[1].set, CurveUse::held_out);
  EXPECT_FALSE(read->figures[1].peak);
}

TEST_F(OwnFigures, AreCheckedStrictly) {
  const auto finds = [&](const std::string& figures, const std::string& message) {
    const std::string found = complaint(figures);
    EXPECT_NE(found.find(message), std::string::npos) << found;
  };
  finds(figure("a", kGood) + figure("a", kGood), "there are two figures 'a'");
  finds(figure("a", "set = \"fit\"\nvalue = 4\nunit = \"hours\"\nsource = \"s\""), "unknown unit 'hours'");
  finds(figure("a", "set = \"fit\"\nvalue = 0\nunit = \"ns\"\nsource = \"s\""), "a value is more than 0");
  finds(figure("a", "set = \"some\"\nvalue = 1\nunit = \"ns\"\nsource = \"s\""), "set is \"fit\" or \"held_out\"");
  finds(figure("a", "set = \"fit\"\nvalue = 1\nunit = \"ns\"\nsource = \"t\""), "[source] has no 't'");
  finds(figure("a", std::string(kGood) + "\nvalues = 3"), "values");
  finds("[[figure]]\nid = ", "figures.toml");
}

TEST(Figures, OfAnUnknownPlatformAreAnError) {
  const auto read = load_figures("pcie_x4");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().list[0].message, "there is no figure of a single GPU of 'pcie_x4'");
}

// The polynomial of Ethernet and zip.
uint32_t crc32(std::string_view text) {
  uint32_t crc = ~0u;
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

TEST(Figures, OfThisProjectHaveTheirProgramsAndTheSetsThatTheirNamesGive) {
  ASSERT_EQ(crc32("123456789"), 0xcbf43926u);
  size_t all = 0, held_out = 0;
  for (const char* platform : {"h100x8", "b300x8"}) {
    const auto read = load_figures(platform);
    ASSERT_TRUE(read) << to_string(read.error(), "");
    for (const Figure& figure : read->figures) {
      EXPECT_TRUE(std::filesystem::exists(read->folder + "/" + figure.program + ".cu")) << figure.id;
      EXPECT_EQ(figure.set == CurveUse::fit, crc32(figure.id) % 5 < 2) << figure.id;
      EXPECT_FALSE(is_beyond_peak(figure, figure.value)) << figure.id;
      held_out += figure.set == CurveUse::held_out;
    }
    EXPECT_GE(read->figures.size(), 40u);
    all += read->figures.size();
  }
  EXPECT_GE(all, 75u);
  EXPECT_GE(2 * held_out, all);
}

Figures three_figures() {
  return {.folder = {},
          .arch = {},
          .figures = {{.id = "a", .what = "a load", .set = CurveUse::fit, .value = 40, .unit = "cycles", .peak = 30},
                      {.id = "b", .what = "a sum", .value = 100, .unit = "GB/s", .peak = 120},
                      {.id = "c", .what = "a flag", .value = 200, .unit = "ns"}}};
}

TEST(Figures, PeaksBoundTimesFromBelowAndRatesFromAbove) {
  const Figures figures = three_figures();
  EXPECT_FALSE(is_beyond_peak(figures.figures[0], 29.8));
  EXPECT_TRUE(is_beyond_peak(figures.figures[0], 29));
  EXPECT_FALSE(is_beyond_peak(figures.figures[0], 100));
  EXPECT_FALSE(is_beyond_peak(figures.figures[1], 121));
  EXPECT_TRUE(is_beyond_peak(figures.figures[1], 122));
  EXPECT_FALSE(is_beyond_peak(figures.figures[2], 1e9));
}

TEST(Figures, SummaryKeepsSetsApart) {
  const FigureSummary s = summarise(three_figures(), {20, 130, 150});
  EXPECT_EQ(s.fit.points, 1u);
  EXPECT_DOUBLE_EQ(s.fit.median, 0.5);
  EXPECT_EQ(s.beyond_fit, 1u);
  EXPECT_EQ(s.held_out.points, 2u);
  EXPECT_DOUBLE_EQ(s.held_out.median, 0.25);
  EXPECT_NEAR(s.held_out.max, 0.3, 1e-12);
  EXPECT_EQ(s.beyond_held_out, 1u);
}

TEST(Figures, AreReadFromTheLineWithTheirUnit) {
  EXPECT_EQ(read_value("warning: x\n40.25 cycles\n", "cycles"), 40.25);
  EXPECT_EQ(read_value("3 cycles\n7 ns\n", "ns"), 7);
  EXPECT_EQ(read_value("0 cycles\n", "cycles"), 0);
  EXPECT_FALSE(read_value("40 cycles\n", "ns"));
  EXPECT_FALSE(read_value("nan cycles\n", "cycles"));
  EXPECT_FALSE(read_value("forty cycles\n", "cycles"));
  EXPECT_FALSE(read_value("", "cycles"));
}

TEST(Figures, TextHasALineForEachAndTheSummary) {
  const Figures figures = three_figures();
  const FigureReport report{"p", figures, {20, 110, 150}, summarise(figures, {20, 110, 150})};
  EXPECT_EQ(to_text(report),
            "id     p           set     public   modelled unit              error\n"
            "a      a load      fit         40         20 cycles           -50.0%  beyond the peak of 30\n"
            "b      a sum  held_out        100        110 GB/s             +10.0%\n"
            "c      a flag held_out        200        150 ns               -25.0%\n"
            "all      fit: 1 figures, error 50.0% median, 50.0% p90, 50.0% max; 1 beyond their peak\n"
            "all held out: 2 figures, error 10.0% median, 25.0% p90, 25.0% max; 0 beyond their peak\n");
  const std::string json = to_json(report);
  EXPECT_NE(json.find("\"beyond_peak\": 1"), std::string::npos);
  EXPECT_NE(json.find("\"public\": 40.0"), std::string::npos);
}

}  // namespace
}  // namespace fb::calibrate
