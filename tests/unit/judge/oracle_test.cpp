#include "judge/data/oracle.h"

#include <gtest/gtest.h>

#include "judge/data/call_data.h"
#include "judge/sample_problem.h"

namespace fb::judge {
namespace {

std::string load_error(std::string_view oracle) {
  const SampleProblem sample({.oracle = oracle});
  const auto loaded = Oracle::load(sample.problem());
  return loaded ? "" : loaded.error().list[0].message;
}

TEST(OracleLoad, TellsWhatTheCompilerSays) {
  const std::string text = load_error("void expect(Case& c) {\n  c.nothing();\n}\nFABRICBENCH_ORACLE(expect)\n");
  EXPECT_TRUE(text.starts_with("oracle.cpp does not compile:\n")) << text;
  EXPECT_NE(text.find("oracle.cpp:4:"), std::string::npos) << text;
  EXPECT_NE(text.find("nothing"), std::string::npos) << text;
}

TEST(OracleLoad, MissesTheMacro) {
  EXPECT_EQ(load_error("void expect(Case&) {}\n// no FABRICBENCH_ORACLE(expect)\n"),
            "oracle.cpp has no FABRICBENCH_ORACLE(…)");
}

TEST(OracleLoad, GivesTheSameFromTheCache) {
  const SampleProblem sample;
  const Oracle first = sample.oracle(), second = sample.oracle();
  const Layout layout(sample.problem(), sample.size(), 2);
  EXPECT_EQ(CallData(layout, first, 1, 0).expected(0, 1).value, CallData(layout, second, 1, 0).expected(0, 1).value);
}

TEST(OracleCall, PassesOnWhatItThrows) {
  const auto said =
      complaints_of({"throw std::runtime_error(\"no luck\");", "throw std::runtime_error(std::string(5000, 'x'));"});
  EXPECT_EQ(said[0], "the oracle of sample failed: no luck");
  EXPECT_TRUE(said[1].starts_with("the oracle of sample failed: xxx"));
  EXPECT_LT(said[1].size(), 600u);
}

TEST(OracleCall, NamesWhatIsMistaken) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"c.output(\"tuo\");", "there is no tensor tuo of rank 0"},
      {"c.input<float>(\"in\", 2);", "there is no tensor in of rank 2"},
      {"c[\"m\"];", "there is no parameter m"},
      {"c.input<double>(\"in\", 0);", "in has another dtype"},
      {"c.input<float>(\"out\", 0);", "out is an output"},
      {"c.output(\"in\");", "in is an input"},
      {"c.output(\"out\", 1);", "out is replicated: ask without a rank"},
      {"c.output(\"out\").set(c[\"n\"], 0);", "out: no element 15"},
      {"c.output(\"out\").set(-1, 0);", "out: no element -1"},
  };
  std::vector<std::string> lines;
  for (const auto& one : cases) lines.push_back(one.first);
  const auto said = complaints_of(lines);
  for (size_t k = 0; k < cases.size(); ++k)
    EXPECT_EQ(said[k], "the oracle of sample failed: " + cases[k].second) << cases[k].first;
}

}  // namespace
}  // namespace fb::judge
