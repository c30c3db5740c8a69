#include "judge/catalog/describe.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "common/base/strings.h"
#include "common/base/terminal.h"
#include "sample.h"

namespace fb::catalog {
namespace {

class Describe : public ProblemFolder {
 protected:
  Pack pack() { return {"mine", "1.2.0", root_.path(), {load()}}; }
};

TEST_F(Describe, AListHasALineForEach) {
  const Pack p = pack();
  EXPECT_EQ(list_as_text({&p.problems[0]}),
            "name    category  level  library  worlds  title\n"
            "sample  p2p       2      cuda     4 2 3   A title\n");
  const auto json = nlohmann::json::parse(list_as_json(p, {&p.problems[0]}));
  EXPECT_EQ(json["pack"]["version"], "1.2.0");
  ASSERT_EQ(json["problems"].size(), 1u);
  EXPECT_EQ(json["problems"][0]["name"], "sample");
  EXPECT_EQ(json["problems"][0]["hash"], p.problems[0].hash);
}

TEST_F(Describe, AListFitsItsColumnsAndKeepsThemAligned) {
  Pack p = pack();
  p.problems[0].title = "Reduce-scatter über Ringe, 全体 in four steps, each with a flag for each of the peers";
  p.problems.push_back(p.problems[0]);
  p.problems[1].name = "a_much_longer_name_of_a_problem";
  p.problems[1].title = "Short";
  const std::vector<const Problem*> both = {&p.problems[0], &p.problems[1]};
  for (const size_t columns : {60u, 80u, 120u, 200u}) {
    const std::string text = list_as_text(both, columns);
    std::vector<size_t> begins;  // of the titles
    for (const auto line : split(trim(text), '\n')) {
      EXPECT_LE(columns_of(line), columns) << text;
      for (const std::string_view title : {"title", "Reduce-scatter", "Short"}) {
        if (const size_t at = line.find(title); at != std::string_view::npos)
          begins.push_back(columns_of(line.substr(0, at)));
      }
    }
    ASSERT_EQ(begins.size(), 3u) << text;
    EXPECT_EQ(begins[0], begins[1]) << text;
    EXPECT_EQ(begins[0], begins[2]) << text;
    EXPECT_EQ(text.contains("…"), columns < 200) << text;
    EXPECT_TRUE(text.contains("a_much_longer_name_of_a_problem  ")) << text;
    EXPECT_EQ(text.contains("worlds"), columns >= 80) << text;
  }
  EXPECT_TRUE(list_as_text(both, 10).starts_with("name\nsample\n")) << "names stay whole";
  EXPECT_TRUE(list_as_text(both).contains(p.problems[0].title)) << "without a limit nothing is cut";
}

TEST_F(Describe, TheTextHasWhatASolverNeedsAndNoSolution) {
  const Pack p = pack();
  const std::string text = show_as_text(p, p.problems[0]);
  for (const std::string& part :
       {std::string("From `in` to `out`"), std::string("  const __nv_bfloat16* in;"),
        std::string("large  100   3      check, time\n"), p.problems[0].hash,
        std::string("`run` must do without copies by the copy engines (cudaMemcpy…)"),
        std::string("must not use dlopen"), std::string("large  4      300 B       100 B      0 flop\n"),
        std::string("mine 1.2.0"), std::string("2: A reason.")})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_EQ(text.find("class Solution {}"), std::string::npos);
}

TEST_F(Describe, JsonHasTheSame) {
  const Pack p = pack();
  const std::string text = show_as_json(p, p.problems[0]);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["statement"], kStatement);
  EXPECT_EQ(json["tensors"][0]["shape"][1], "alpha + rank");
  EXPECT_EQ(json["sizes"][1]["values"]["zeta"], 100);
  EXPECT_EQ(json["cost"]["timed"][0]["link_bytes"], 300);
  EXPECT_EQ(json["rules"]["forbid_in_run"][0], "copy");
  EXPECT_EQ(text.find("class Solution {}"), std::string::npos);
}

TEST_F(Describe, ADriverIsShown) {
  write("driver.cu", "template <class Solution> class Driver { int shown; };\n");
  add_to_toml("\n[interface]\nconstruct = \"int capacity\"\nhost = [\"int size()\"]\n");
  const Pack p = pack();
  EXPECT_NE(show_as_text(p, p.problems[0]).find("int shown;"), std::string::npos);
}

}  // namespace
}  // namespace fb::catalog
