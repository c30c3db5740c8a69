#include "judge/oracle.h"

#include <gtest/gtest.h>

#include "judge/call_data.h"
#include "judge/sample_problem.h"

namespace fb::judge {
namespace {

std::string load_error(std::string_view oracle) {
  const SampleProblem sample({.oracle = oracle});
  const auto loaded = Oracle::load(sample.problem());
  return loaded ? "" : loaded.error().list[0].message;
}

// What a whole `expect` with this line throws.
std::string call_error(const std::string& line) {
  const std::string oracle = "void expect(Case& c) { " + line + " }\nFABRICBENCH_ORACLE(expect)\n";
  const SampleProblem sample({.oracle = oracle});
  const Oracle loaded = sample.oracle();
  const Layout layout(sample.problem(), sample.size(), 2);
  return thrown_by([&] { CallData(layout, loaded, 1, 0); });
}

TEST(OracleLoad, TellsWhatTheCompilerSays) {
  const std::string text = load_error("void expect(Case& c) {\n  c.nothing();\n}\nFABRICBENCH_ORACLE(expect)\n");
  EXPECT_TRUE(text.starts_with("oracle.cpp does not compile:\n")) << text;
  EXPECT_NE(text.find("oracle.cpp:4:"), std::string::npos) << text;
  EXPECT_NE(text.find("nothing"), std::string::npos) << text;
}

TEST(OracleLoad, MissesTheMacro) {
  EXPECT_EQ(load_error("void expect(Case&) {}\n"), "oracle.cpp has no FABRICBENCH_ORACLE(…)");
}

TEST(OracleLoad, GivesTheSameFromTheCache) {
  const SampleProblem sample;
  const Oracle first = sample.oracle(), second = sample.oracle();
  const Layout layout(sample.problem(), sample.size(), 2);
  EXPECT_EQ(CallData(layout, first, 1, 0).expected(0, 1).value, CallData(layout, second, 1, 0).expected(0, 1).value);
}

TEST(OracleCall, PassesOnWhatItThrows) {
  EXPECT_EQ(call_error("(void)c; throw std::runtime_error(\"no luck\");"), "the oracle of sample failed: no luck");
  const std::string cut = call_error("(void)c; throw std::runtime_error(std::string(5000, 'x'));");
  EXPECT_TRUE(cut.starts_with("the oracle of sample failed: xxx"));
  EXPECT_LT(cut.size(), 600u);
}

TEST(OracleCall, NamesWhatIsNotThere) {
  EXPECT_EQ(call_error("c.output(\"tuo\");"), "the oracle of sample failed: there is no tensor tuo of rank 0");
  EXPECT_EQ(call_error("c.input<float>(\"in\", 2);"), "the oracle of sample failed: there is no tensor in of rank 2");
  EXPECT_EQ(call_error("c[\"m\"];"), "the oracle of sample failed: there is no parameter m");
}

TEST(OracleCall, NamesWhatIsSomethingElse) {
  EXPECT_EQ(call_error("c.input<double>(\"in\", 0);"), "the oracle of sample failed: in has another dtype");
  EXPECT_EQ(call_error("c.input<float>(\"out\", 0);"), "the oracle of sample failed: out is an output");
  EXPECT_EQ(call_error("c.output(\"in\");"), "the oracle of sample failed: in is an input");
  EXPECT_EQ(call_error("c.output(\"out\", 1);"), "the oracle of sample failed: out is replicated: ask without a rank");
  EXPECT_EQ(call_error("c.output(\"out\").set(8, 0);"), "the oracle of sample failed: out: no element 8");
  EXPECT_EQ(call_error("c.output(\"out\").set(-1, 0);"), "the oracle of sample failed: out: no element -1");
}

}  // namespace
}  // namespace fb::judge
