#include "audit/mutate/score.h"

#include <gtest/gtest.h>

#include "audit/mutate/equivalents.h"
#include "audit/mutate/run.h"

namespace fb::mutate {
namespace {

MutantResult result(std::string id, Fate fate, Means means = Means::none) {
  MutantResult made{.fate = fate, .means = means};
  made.mutant.id = std::move(id);
  made.mutant.problem = "ring";
  made.mutant.made_by = "drop-fence";
  made.mutant.before = "fence();";
  made.mutant.after = ";";
  return made;
}

Run sample() {
  Run run{.seed = 3};
  run.results = {result("ring/a/1:1/0", Fate::killed, Means::ordinary),
                 result("ring/a/2:1/0", Fate::killed, Means::checkers),
                 result("ring/a/3:1/0", Fate::survived),
                 result("ring/a/4:1/0", Fate::declared_equivalent),
                 result("ring/a/5:1/0", Fate::invalid),
                 result("ring/a/6:1/0", Fate::duplicate),
                 result("ring/a/7:1/0", Fate::same_code),
                 result("ring/a/8:1/0", Fate::killed, Means::schedules)};
  return run;
}

TEST(Score, CountsWhatIsNotEquivalent) {
  const Tally tally = tally_of(sample());
  EXPECT_EQ(tally.mutants, 8u);
  EXPECT_EQ(tally.counted(), 4u);
  EXPECT_EQ(tally.equivalent, 2u);
  EXPECT_DOUBLE_EQ(tally.rate(), 0.75);
  EXPECT_DOUBLE_EQ(tally.ordinary_rate(), 0.25);
}

TEST(Score, TextNamesSurvivorsWithWhatTheyChanged) {
  const std::string text = describe(sample());
  EXPECT_NE(text.find("Survivors:\n  ring/a/3:1/0\n    - fence();\n    + ;\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("ring/a/1:1/0"), std::string::npos) << text;
  EXPECT_NE(text.find("3 of 4 mutants that count are killed: 75.0 %; by an ordinary run alone 25.0 %"),
            std::string::npos)
      << text;
}

TEST(Score, RunsComeBackFromJson) {
  const mutate::Run run = sample();  // tests have a Run, too
  const auto back = parse_run(to_json(run));
  ASSERT_TRUE(back);
  EXPECT_EQ(to_json(*back), to_json(run));
  EXPECT_FALSE(parse_run("{}"));
}

TEST(Equivalents, AreReadAndChecked) {
  const auto good = parse_equivalents("[[mutant]]\nid = \"a\"\nwhy = \"b\"\n");
  ASSERT_TRUE(good);
  EXPECT_EQ(good->at("a"), "b");
  EXPECT_TRUE(parse_equivalents(""));
  EXPECT_FALSE(parse_equivalents("[[mutant]]\nid = \"a\"\n")) << "no argument";
  EXPECT_FALSE(parse_equivalents("[[mutant]]\nid = \"a\"\nwhy = \"b\"\n[[mutant]]\nid = \"a\"\nwhy = \"c\"\n"));
}

TEST(Draw, TakesSoManyInTheirOrder) {
  std::vector<Mutant> all;
  for (int k = 0; k < 20; ++k) all.push_back({.id = std::to_string(k)});
  const auto drawn = draw(all, 5, 1), again = draw(all, 5, 1), others = draw(all, 5, 2);
  ASSERT_EQ(drawn.size(), 5u);
  for (size_t k = 1; k < drawn.size(); ++k) EXPECT_LT(std::stoi(drawn[k - 1].id), std::stoi(drawn[k].id));
  const auto ids = [](const std::vector<Mutant>& mutants) {
    std::string text;
    for (const auto& mutant : mutants) text += mutant.id + " ";
    return text;
  };
  EXPECT_EQ(ids(drawn), ids(again));
  EXPECT_NE(ids(drawn), ids(others));
  EXPECT_EQ(draw(all, 0, 1).size(), 20u);
}

}  // namespace
}  // namespace fb::mutate
