#include "audit/prove/impostors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "audit/prove/impostor_sources.h"
#include "prove/fixture.h"

namespace fb::prove {
namespace {

// Whether each impostor is refused.
std::map<std::string, bool> refused(const std::string& name, int world = 3) {
  const Fixture fixture(name);
  const judge::Layout layout = fixture.layout(world);
  const judge::CallData call(layout, fixture.oracle(), 5, 1), before(layout, fixture.oracle(), 6, 0);
  std::map<std::string, bool> answers;
  for (const auto& impostor : make_impostors(layout, fixture.oracle(), call, before))
    answers[impostor.name] = refusal(layout, call, impostor.outputs).has_value();
  answers["right"] = refusal(layout, call, right_outputs(layout, call)).has_value();
  return answers;
}

TEST(Impostors, AreRefusedByASoundProblemAndTheRightAnswerIsNot) {
  for (const int world : {2, 3}) {
    auto answers = refused("sound", world);
    EXPECT_FALSE(answers["right"]);
    answers.erase("right");
    EXPECT_GE(answers.size(), 8u);
    for (const auto& [name, was_refused] : answers) EXPECT_TRUE(was_refused) << name << ", " << world << " ranks";
  }
}

TEST(Impostors, ZerosPassWhereNothingIsExpected) {
  auto answers = refused("always_zero");
  EXPECT_FALSE(answers["right"]);
  EXPECT_FALSE(answers["zeros"]);
  EXPECT_FALSE(answers["result of the call before"]);
  EXPECT_FALSE(answers["last rank did nothing"]);
  EXPECT_TRUE(answers["constant"]);
  EXPECT_TRUE(answers["inputs returned"]);
}

TEST(Impostors, WhoKnowsNoPeersPassesWhereNobodyIsNeeded) {
  auto answers = refused("ignores_others");
  EXPECT_FALSE(answers["local result only"]);
  EXPECT_TRUE(answers["one rank's data missing"]) << "it is the last rank's own";
  EXPECT_TRUE(answers["zeros"]);
}

TEST(Impostors, PassWhereBoundsAreLoose) {
  const auto answers = refused("loose_bound");
  EXPECT_FALSE(answers.at("zeros"));
  EXPECT_FALSE(answers.at("inputs returned"));
}

TEST(Impostors, TakeTheOtherDimensionOfTheGridForTheGroup) {
  const auto answers = refused("grouped", 4);
  EXPECT_TRUE(answers.at("groups transposed"));
  EXPECT_FALSE(answers.at("right"));
  EXPECT_FALSE(refused("grouped", 2).contains("groups transposed")) << "there is one group";
  EXPECT_FALSE(refused("sound").contains("groups transposed")) << "there are no groups";
}

TEST(Impostors, ThatNeedPeersAreNotMadeForOneRank) {
  const auto answers = refused("ignores_others", 1);
  EXPECT_FALSE(answers.contains("local result only"));
  EXPECT_FALSE(answers.contains("rank 0 right only"));
  EXPECT_TRUE(answers.at("zeros"));
}

TEST(Impostors, ARefusalSaysWhichElement) {
  const Fixture fixture("sound");
  const judge::Layout layout = fixture.layout();
  const judge::CallData call(layout, fixture.oracle(), 5, 1);
  Outputs outputs = right_outputs(layout, call);
  outputs[2][2][4 * 7 + 3] ^= std::byte{0x40};
  const auto said = refusal(layout, call, outputs);
  ASSERT_TRUE(said);
  EXPECT_TRUE(said->starts_with("out[7] on rank 2 is ")) << *said;
}

TEST(ImpostorSources, AreCandidatesThatWriteEveryOutput) {
  const Fixture fixture("sound");
  const auto sources = impostor_sources(fixture.problem());
  std::set<std::string> names;
  for (const auto& [name, answer, of_baseline] : sources) {
    names.insert(name);
    EXPECT_FALSE(of_baseline) << name;
    EXPECT_TRUE(answer.starts_with("// [solution]\n")) << name;
    EXPECT_TRUE(answer.ends_with("// [/solution]\n")) << name;
    EXPECT_NE(answer.find("class Solution"), std::string::npos) << name;
    EXPECT_EQ(answer.find("args.out") != std::string::npos, name != "nothing") << name;
    EXPECT_EQ(answer.find("{0}"), std::string::npos) << name << ": a name was not filled in";
    EXPECT_EQ(std::ranges::count(answer, '{'), std::ranges::count(answer, '}')) << name;
  }
  EXPECT_EQ(names.size(), sources.size()) << "two have the same name";
  for (const char* name : {"zeros", "nothing", "result of the call before", "rank 0 right only", "one element wrong"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(ImpostorSources, HideBehindTheReference) {
  const Fixture fixture("always_zero");
  for (const auto& [name, answer, of_baseline] : impostor_sources(fixture.problem())) {
    const bool alone = name == "zeros" || name == "nothing";
    EXPECT_EQ(answer.find("#define Solution Reference") != std::string::npos, !alone) << name;
    EXPECT_EQ(answer.find("cudaMemsetAsync(args.out") != std::string::npos, !alone) << name << ": the reference's text";
    EXPECT_EQ(answer.find("reference_.run(args, stream)") != std::string::npos, !alone) << name;
  }
}

TEST(ImpostorSources, MakeOneOfABaselineWhoseNcclHasNoPeers) {
  catalog::Problem problem = Fixture("sound").problem();
  const auto of_baseline = [&] {
    std::vector<ImpostorSource> sources = impostor_sources(problem);
    std::erase_if(sources,
                  [](const ImpostorSource& source) { return source.name.find("baseline") == std::string::npos; });
    return sources;
  };
  problem.baseline = problem.reference;
  EXPECT_TRUE(of_baseline().empty()) << "it calls no NCCL";
  problem.baseline = "// [solution]\n#include <nccl.h>\nvoid f() { ncclGroupEnd(); }\n// [/solution]\n";
  ASSERT_EQ(of_baseline().size(), 1u);
  EXPECT_TRUE(of_baseline()[0].of_baseline);
  const std::string answer = of_baseline()[0].answer;
  EXPECT_LT(answer.find("#define ncclGroupEnd"), answer.find("ncclGroupEnd();")) << "before the baseline's own text";
}

TEST(ImpostorSources, AreNoneWhereADriverUsesTheClass) {
  EXPECT_TRUE(impostor_sources(Fixture("with_driver").problem()).empty());
}

}  // namespace
}  // namespace fb::prove
