// load_problem: what a folder becomes, and a located message for every mistake.

#include "common/base/content_hash.h"
#include "judge/catalog/family.h"
#include "judge/catalog/pack.h"
#include "sample.h"

namespace fb::catalog {
namespace {

class Loader : public ProblemFolder {
 protected:
  // One mistake, one message.
  void expect_only(std::string_view message) { EXPECT_EQ(messages(), std::string(message) + "\n"); }
};

TEST_F(Loader, ReadsAFolder) {
  write("driver.cu", "template <class Solution> class Driver {};\n");
  add_to_toml(
      "[interface]\nconstruct = \"int n\"\nhost = [\"Queue queue()\", \"bool pop(Item& item)\"]\n"
      "device = [\"void Queue::push(const Item& item)\"]\n");
  write("alternative.cu", "// [solution]\nclass Solution {};\n// [/solution]\n");
  const Problem p = load();
  EXPECT_EQ(p.name, "sample");
  EXPECT_EQ(p.folder, folder());
  EXPECT_EQ(p.title, "A title");
  EXPECT_EQ(p.category, "p2p");
  EXPECT_EQ(p.level, 2);
  EXPECT_EQ(p.platform, "h100x8");
  EXPECT_EQ(p.tags, (std::vector<std::string>{"a", "b-c"}));
  EXPECT_EQ(p.worlds, (std::vector<int>{4, 2, 3}));
  ASSERT_EQ(p.sizes.size(), 2u);
  EXPECT_TRUE(p.sizes[0].quick && !p.sizes[0].timed && !p.sizes[1].quick && p.sizes[1].timed);
  EXPECT_EQ(p.sizes[1].values, (Values{{"zeta", 100}, {"alpha", 3}}));
  ASSERT_EQ(p.tensors.size(), 2u);
  EXPECT_EQ(p.tensors[0].fill, "spread");
  EXPECT_TRUE(p.tensors[1].output && p.tensors[1].replicated && !p.tensors[0].output);
  EXPECT_EQ(p.rules.forbid_in_run, (std::vector<std::string>{"copy"}));
  EXPECT_EQ(p.rules.forbid_symbols, (std::vector<std::string>{"dlopen"}));
  EXPECT_EQ(p.cost.link_bytes.text(), "(world - 1) * zeta");
  EXPECT_EQ(p.cost.least_link_bytes.text(), "(world - 1) * zeta") << "nothing else is said";
  EXPECT_EQ(p.statement, kStatement);
  EXPECT_EQ(p.reference, kReference);
  EXPECT_EQ(p.oracle, folder() + "/oracle.cpp");
  EXPECT_FALSE(p.driver.empty() || p.alternative.empty());
  ASSERT_EQ(p.interface.host.size(), 2u);
  EXPECT_EQ(p.interface.host[1].parameters[0].type, "Item&");
  EXPECT_EQ(p.interface.objects(), std::vector<std::string>{"Queue"});
  EXPECT_EQ(p.interface.device[0].name, "push");
}

TEST_F(Loader, ASizeMayBeSampled) {
  spoil("alpha = 3\ntimed = true\n", "alpha = 3\ntimed = true\nscale = \"zeta\"\nsamples = [10, 23, 30]\n");
  const Problem p = load();
  EXPECT_FALSE(p.sizes[0].is_sampled());
  ASSERT_EQ(p.sizes[1].samples.size(), 3u);
  EXPECT_EQ(p.sizes[1].values.at("zeta"), 100);
  EXPECT_EQ(p.sizes[1].samples[2].values, (Values{{"zeta", 30}, {"alpha", 3}}));
  EXPECT_EQ(p.sizes[1].samples[2].name, "large");
}

TEST_F(Loader, RefusesSamplesThatTellNothing) {
  const std::pair<const char*, const char*> wrong[] = {
      {"scale = \"zeta\"\n", "'scale' and 'samples' belong together"},
      {"samples = [1, 3, 4]\n", "'scale' and 'samples' belong together"},
      {"scale = \"beta\"\nsamples = [1, 3, 4]\n", "'scale': there is no parameter 'beta'"},
      {"scale = \"zeta\"\nsamples = [10, 20]\n", "'samples' must be at least three values"},
      {"scale = \"zeta\"\nsamples = [10, 30, 20]\n", "'samples' must ascend, and be less than zeta = 100"},
      {"scale = \"zeta\"\nsamples = [10, 30, 100]\n", "'samples' must ascend, and be less than zeta = 100"},
      {"scale = \"zeta\"\nsamples = [10, 20, 30]\n", "'samples' must not be evenly spaced"},
      {"quick = true\nscale = \"zeta\"\nsamples = [10, 23, 30]\n",
       "only a size with timed = true, and without quick = true, can be sampled"},
  };
  for (const auto& [text, message] : wrong) {
    const std::string right = "alpha = 3\ntimed = true\n", spoiled = right + text;
    spoil(right, spoiled);
    EXPECT_NE(messages().find(message), std::string::npos) << text << messages();
    spoil(spoiled, right);
  }
}

TEST_F(Loader, ADriverHasAnInterface) {
  write("driver.cu", "template <class Solution> class Driver {};\n");
  EXPECT_NE(messages().find("problem.toml: a problem with a driver.cu needs an [interface]"), std::string::npos)
      << messages();
  add_to_toml("[interface]\nhost = [\"bool pop\", \"void Queue::take()\"]\ndevice = [\"int push()\"]\n");
  const std::string said = messages();
  EXPECT_NE(said.find("'bool pop' is no declaration"), std::string::npos) << said;
  EXPECT_NE(said.find("a function of the host is that of Solution"), std::string::npos) << said;
  EXPECT_NE(said.find("a function of a kernel is that of an object"), std::string::npos) << said;
}

TEST_F(Loader, ParametersKeepTheirOrder) {
  const Problem p = load();
  ASSERT_EQ(p.parameters.size(), 2u);
  EXPECT_EQ(p.parameters[0], (std::pair<std::string, std::string>{"zeta", "comes first"}));
  EXPECT_EQ(p.parameters[1].first, "alpha");
}

TEST_F(Loader, ShapesAreEvaluatedForARank) {
  const Problem p = load();
  EXPECT_EQ(p.elements(p.tensors[0], p.values(p.sizes[1], 4, 2)), 100 * 5);
  EXPECT_EQ(p.elements(p.tensors[1], p.values(p.sizes[1], 4, 2)), 400);
}

TEST_F(Loader, ThePathMayEndWithASlash) {
  const auto problem = load_problem(folder() + "/");
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->name, "sample");
}

TEST_F(Loader, TheHashKnowsNamesAndContentsOfAllFiles) {
  const std::string before = load().hash;
  EXPECT_EQ(before.size(), kContentHashLength);
  EXPECT_EQ(load().hash, before);
  write(".oracle.cpp.swp", "an editor's");
  EXPECT_EQ(load().hash, before);
  write("oracle.cpp", "FABRICBENCH_ORACLE(expect) \n");
  EXPECT_NE(load().hash, before);
  write("oracle.cpp", "FABRICBENCH_ORACLE(expect)\n");
  EXPECT_EQ(load().hash, before);
  write("README.md", "x");
  EXPECT_NE(load().hash, before);
}

TEST_F(Loader, TheMathematicsOfAFamilyCountWhereTheOracleIncludesThem) {
  const std::string before = load().hash;
  root_.write("comm/p2p/mathematics.h", "int x;\n");
  EXPECT_EQ(load().hash, before);
  EXPECT_EQ(load().mathematics, "");
  write("oracle.cpp", "#include \"../mathematics.h\"\nFABRICBENCH_ORACLE(expect)\n");
  const std::string with = load().hash;
  EXPECT_EQ(load().mathematics, "int x;\n");
  root_.write("comm/p2p/mathematics.h", "int y;\n");
  EXPECT_NE(load().hash, with);
  std::filesystem::remove(folder() + "/../mathematics.h");
  expect_only("oracle.cpp: includes ../mathematics.h, which is missing");
}

TEST_F(Loader, AnswersHaveTheHeadersOfTheirFamily) {
  write("alternative.cu", "// [solution]\n#include \"../shared.h\"\nclass Solution {};\n// [/solution]\n");
  expect_only("alternative.cu: includes ../shared.h, which is missing");
  root_.write("comm/p2p/shared.h", "#pragma once\n\nint x;\n");
  const Problem p = load();
  EXPECT_EQ(p.alternative, "// [solution]\n\nint x;\nclass Solution {};\n// [/solution]\n");
  // So has the file itself, but no other one.
  const std::string text = "#include \"../shared.h\"\n";
  EXPECT_EQ(with_headers_of(p, folder() + "/alternative.cu", text).value(), "\nint x;\n");
  EXPECT_EQ(with_headers_of(p, folder() + "/../alternative.cu", text).value(), text);
  root_.write("comm/p2p/shared.h", "int y;\n");
  EXPECT_NE(load().hash, p.hash);
}

TEST_F(Loader, LocatesAMistakeOfToml) {
  spoil("level = 2", "level = ");
  EXPECT_TRUE(messages().starts_with("problem.toml:5:")) << messages();
}

TEST_F(Loader, RefusesUnknownKeysEverywhere) {
  spoil("title =", "titel = \"x\"\ntitle =");
  expect_only("problem.toml:1:1: unknown key 'titel'; did you mean 'title'?");
  spoil("titel = \"x\"\n", "");
  spoil("role = \"in\"", "role = \"in\"\nlayout = \"row\"");
  expect_only("problem.toml:30:1: unknown key 'layout'");
  spoil("layout = \"row\"\n", "");
  spoil("flops = 0", "flops = 0\nwatts = 3");
  expect_only("problem.toml:51:1: unknown key 'watts'");
  spoil("watts = 3", "");
  spoil("forbid_symbols", "forbid_symbol");
  expect_only("problem.toml:45:1: unknown key 'forbid_symbol'; did you mean 'forbid_symbols'?");
}

TEST_F(Loader, NamesMissingKeysWithTheirTable) {
  spoil("title = \"A title\"\n", "");
  spoil("dtype = \"bf16\"\n", "");
  spoil("memory_bytes = \"zeta\"\n", "");
  EXPECT_EQ(messages(),
            "problem.toml:1:1: 'title' is missing\n"
            "problem.toml:26:1: 'dtype' is missing\n"
            "problem.toml:45:1: 'memory_bytes' is missing\n");
}

TEST_F(Loader, RefusesWrongTypes) {
  spoil("\"A title\"", "7");
  spoil("level = 2", "level = \"two\"");
  spoil("[4, 2, 3]", "4");
  spoil("quick = true", "quick = 1");
  spoil("[\"zeta * world\"]", "\"zeta * world\"");
  EXPECT_EQ(messages(),
            "problem.toml:1:9: 'title' must be text\n"
            "problem.toml:5:9: 'level' must be a whole number\n"
            "problem.toml:9:10: 'worlds' must be a list that is not empty\n"
            "problem.toml:15:1: no size has quick = true\n"
            "problem.toml:19:9: 'quick' must be true or false\n"
            "problem.toml:39:9: 'shape' must be a list that is not empty\n");
}

TEST_F(Loader, RefusesFactsOutOfRange) {
  spoil("level = 2", "level = 4");
  spoil("[4, 2, 3]", "[0, 73, 2, 2]");
  spoil("\"comm\"", "\"com\"");
  spoil("\"b-c\"", "\"B c\"");
  spoil("\"p2p\"", "\"ep\"");
  EXPECT_EQ(messages(),
            "problem.toml:2:9: track 'com', but the folder is in 'comm'\n"
            "problem.toml:2:9: track 'com': there are comm and kernel\n"
            "problem.toml:3:12: category 'ep', but the folder is in 'p2p'\n"
            "problem.toml:5:9: level 4: there are levels 1 to 3\n"
            "problem.toml:7:14: tag 'B c': lower-case letters, digits and '-'\n"
            "problem.toml:9:11: a world of 0 ranks: there are 1 to 72\n"
            "problem.toml:9:14: a world of 73 ranks: there are 1 to 72\n"
            "problem.toml:9:21: a world of 2 ranks appears twice\n");
}

TEST_F(Loader, RefusesSizesThatMissOrAddAParameter) {
  spoil("alpha = 2\n", "");
  spoil("zeta = 100", "zeta = 100\nbeta = 1");
  EXPECT_EQ(messages(),
            "problem.toml:15:1: 'alpha' is missing\n"
            "problem.toml:23:1: unknown key 'beta'; did you mean 'zeta'?\n");
}

TEST_F(Loader, RefusesSizesOfTheSameNameAndNoneThatIsTimed) {
  spoil("\"large\"", "\"one\"");
  spoil("timed = true", "");
  EXPECT_EQ(messages(),
            "problem.toml:15:1: no size has timed = true\n"
            "problem.toml:22:8: a second size 'one'\n");
}

TEST_F(Loader, RefusesNamesThatAreNoFields) {
  spoil("alpha = \"comes second\"", "alpha = \"comes second\"\nint = \"x\"\nquick = \"x\"\nrank = \"x\"\nNope = \"x\"");
  const std::string text = messages();
  EXPECT_NE(text.find("problem.toml:14:1: parameter 'int' has another meaning in C++\n"), std::string::npos) << text;
  EXPECT_NE(text.find("problem.toml:15:1: parameter 'quick': every [[size]] has a key"), std::string::npos) << text;
  EXPECT_NE(text.find("problem.toml:16:1: parameter 'rank' is predefined in every"), std::string::npos) << text;
  EXPECT_NE(text.find("problem.toml:17:1: parameter 'Nope' is not snake_case\n"), std::string::npos) << text;
}

TEST_F(Loader, RefusesTensorsOfTheSameName) {
  spoil("name = \"out\"", "name = \"in\"");
  expect_only("problem.toml:36:8: a second tensor 'in'");
  spoil("name = \"in\"\nrole = \"out\"", "name = \"zeta\"\nrole = \"out\"");
  expect_only("problem.toml:36:8: 'zeta' is a parameter already");
  spoil("name = \"zeta\"", "name = \"class\"");
  expect_only("problem.toml:36:8: tensor 'class' has another meaning in C++");
}

TEST_F(Loader, RefusesUnknownWords) {
  spoil("\"bf16\"", "\"half\"");
  spoil("role = \"out\"", "role = \"inout\"");
  spoil("[\"copy\"]", "[\"cpy\"]");
  EXPECT_EQ(messages(),
            "problem.toml:27:1: no tensor is an output (role = \"out\")\n"
            "problem.toml:30:9: dtype 'half': there are f32 f16 bf16 f64 i32 u32 i64 u64 u8\n"
            "problem.toml:37:8: role 'inout': there are in and out\n"
            "problem.toml:44:18: unknown kind of request 'cpy'; did you mean 'copy'?\n");
}

TEST_F(Loader, RefusesAFillThatDoesNotSuitTheType) {
  spoil("\"spread\"", "\"zeros\"");
  expect_only("problem.toml:32:8: fill 'zeros': there are spread unit integers bits none");
  spoil("\"zeros\"", "\"bits\"");
  expect_only("problem.toml:32:8: fill 'bits' needs an integer, not bf16");
  spoil("\"bf16\"", "\"u32\"");
  EXPECT_EQ(messages(), "");
  spoil("\"bits\"", "\"unit\"");
  expect_only("problem.toml:32:8: fill 'unit' needs a float, not u32");
  spoil("\"unit\"", "\"integers\"");
  expect_only("problem.toml:32:8: fill 'integers' needs a float or a signed integer, not u32");
  spoil("fill = \"integers\"\n", "");
  expect_only("problem.toml:27:1: 'fill' is missing");
  spoil("dtype = \"u32\"", "dtype = \"u32\"\nfill = \"none\"");
  spoil("replicated = true", "fill = \"none\"");
  expect_only("problem.toml:40:8: 'fill' is a property of inputs");
}

TEST_F(Loader, OnlyTensorsOfOneShapeAreReplicated) {
  spoil("\"zeta * world\"", "\"zeta + rank\"");
  expect_only("problem.toml:40:14: a shape that names 'rank' is not the same on all ranks");
}

TEST_F(Loader, InputsMayBeReplicated) {
  EXPECT_FALSE(load().tensors[0].replicated);
  spoil("\"alpha + rank\"", "\"alpha\"");
  spoil("fill = \"spread\"", "fill = \"spread\"\nreplicated = true");
  EXPECT_TRUE(load().tensors[0].replicated);
}

TEST_F(Loader, GroupsFillTheWorld) {
  EXPECT_EQ(load().group, "");
  spoil("worlds = [4, 2, 3]", "worlds = [4, 2]\ngroup = \"gamma\"");
  expect_only("problem.toml:10:9: group 'gamma': there is no such parameter");
  spoil("\"gamma\"", "\"alpha\"");
  expect_only("problem.toml:10:9: group: groups of 3 ranks do not fill a world at size 'large' and world 4");
  spoil("alpha = 3", "alpha = 1");
  EXPECT_EQ(load().group, "alpha");
}

TEST_F(Loader, NeedsAnOutput) {
  spoil("role = \"out\"", "role = \"in\"\nfill = \"bits\"");
  spoil("replicated = true\n", "");
  expect_only("problem.toml:27:1: no tensor is an output (role = \"out\")");
}

TEST_F(Loader, LocatesMistakesInExpressions) {
  spoil("\"alpha + rank\"", "\"alpha + \"");
  spoil("\"zeta * world\"", "\"gamma * world\"");
  spoil("\"(world - 1) * zeta\"", "\"rank\"");
  spoil("flops = 0", "flops = 1.5");
  EXPECT_EQ(messages(),
            "problem.toml:31:18: 'alpha + ', character 9: ends where a number or a name is expected\n"
            "problem.toml:39:10: 'gamma * world': there is no parameter 'gamma'\n"
            "problem.toml:48:14: 'rank': a cost is that of the worst rank and can't name 'rank'\n"
            "problem.toml:50:9: 'flops' must be an expression, as \"2 * n\"\n");
}

TEST_F(Loader, RefusesTensorsWithoutElements) {
  spoil("\"alpha + rank\"", "\"alpha - rank\"");
  expect_only("problem.toml:27:1: tensor 'in': 'alpha - rank' is 0 at size 'one' and world 4, rank 2");
  spoil("\"zeta\", \"alpha - rank\"", "\"zeta / (alpha - 2)\"");
  expect_only("problem.toml:27:1: tensor 'in': 'zeta / (alpha - 2)': division by zero at size 'one' and world 4");
  spoil("\"zeta / (alpha - 2)\"", "\"zeta * 1000000000\", \"zeta * 1000000000\"");
  expect_only(
      "problem.toml:27:1: tensor 'in': the number of elements of 'in' does not fit into 64 bits at size 'large' and "
      "world 4");
}

TEST_F(Loader, ATensorMayLieOnAnotherDevice) {
  EXPECT_FALSE(load().tensors[0].device);
  spoil("about = \"what goes in\"", "about = \"what goes in\"\ndevice = \"rank + 1\"");
  const Problem p = load();
  ASSERT_TRUE(p.tensors[0].device);
  EXPECT_EQ(p.tensors[0].device->evaluate(p.values(p.sizes[0], 4, 2)), 3);
  spoil("rank + 1", "rank - 1");
  expect_only("problem.toml:27:1: tensor 'in': there is no device -1 at size 'one' and world 4, rank 0");
}

TEST_F(Loader, RefusesCostsBelowZero) {
  spoil("\"(world - 1) * zeta\"", "\"(2 - world) * zeta\"");
  expect_only("problem.toml:48:14: link_bytes: '(2 - world) * zeta' is -2 at size 'one' and world 4");
}

TEST_F(Loader, ReadsWhatNoSolutionCanDoWithout) {
  spoil("link_bytes = ", "least_link_bytes = \"1 * zeta\"\nlink_bytes = ");
  EXPECT_EQ(load().cost.least_link_bytes.text(), "1 * zeta");
  spoil("\"1 * zeta\"", "\"1 - zeta\"");
  expect_only("problem.toml:48:20: least_link_bytes: '1 - zeta' is -99 at size 'large' and world 4");
}

TEST_F(Loader, ReadsWhatGoesThroughNetworkCards) {
  EXPECT_FALSE(load().uses_network());
  spoil("link_bytes = ", "network_hops = \"2\"\nnetwork_bytes = \"4 * zeta\"\nlink_bytes = ");
  const Problem p = load();
  EXPECT_TRUE(p.uses_network());
  EXPECT_EQ(p.cost.network_bytes.text(), "4 * zeta");
  EXPECT_EQ(p.cost.least_network_bytes.text(), "4 * zeta") << "nothing else is said";
  EXPECT_EQ(p.cost.network_hops.text(), "2");
  spoil("\"4 * zeta\"", "\"4 - zeta\"");
  expect_only("problem.toml:49:17: network_bytes: '4 - zeta' is -96 at size 'large' and world 4");
}

TEST_F(Loader, NamesMissingAndEmptyAndUnknownFiles) {
  remove("oracle.cpp");
  write("statement.md", " \n");
  write("varient.cu", "x");
  const std::string text = messages();
  EXPECT_NE(text.find("oracle.cpp: is missing\n"), std::string::npos) << text;
  EXPECT_NE(text.find("statement.md: is empty\n"), std::string::npos) << text;
  EXPECT_NE(text.find("varient.cu: a problem has no such file (only problem.toml,"), std::string::npos) << text;
}

TEST_F(Loader, AFolderWithoutAnythingMissesEverything) {
  std::filesystem::remove_all(folder());
  std::filesystem::create_directories(folder());
  EXPECT_EQ(messages(),
            "problem.toml: is missing\nstatement.md: is missing\noracle.cpp: is missing\nreference.cu: is missing\n");
}

TEST_F(Loader, AFolderThatIsNotThereIsSaid) {
  const auto problem = load_problem("/nowhere/comm/p2p/x");
  ASSERT_FALSE(problem);
  EXPECT_EQ(problem.error().list[0].message, "/nowhere/comm/p2p/x: is not a folder");
}

TEST_F(Loader, ChecksSources) {
  write("oracle.cpp", "int x;\n");
  expect_only("oracle.cpp: does not contain FABRICBENCH_ORACLE(…)");
  write("oracle.cpp", "FABRICBENCH_ORACLE(expect)\n");
  write("reference.cu", "// [solution]\nclass Solution {};\n// [/solution]\n");
  EXPECT_EQ(messages(),
            "reference.cu: does not include \"args.h\"\n"
            "reference.cu:1:1: the region has no template: '// [template]' and lines that begin with '//| ' are "
            "missing\n");
  write("reference.cu", "#include \"args.h\"\n// [solution]\n");
  expect_only("reference.cu:2:1: is not closed: '// [/solution]' is missing");
}

TEST_F(Loader, AnAlternativeHasTheRegionsOfTheReference) {
  write("alternative.cu", "class Solution {};\n");
  expect_only("alternative.cu: has no region: '// [solution]' is missing");
  write("alternative.cu", "// [solution: other]\n// [/solution]\n");
  EXPECT_EQ(
      messages(),
      "alternative.cu:1:1: reference.cu has no region 'other'\nalternative.cu: has no region '' as reference.cu has\n");
}

TEST_F(Loader, SpeedsAreRelativeToABaseline) {
  write("baseline.cu", "// [solution]\nclass Solution { int plain; };\n// [/solution]\n");
  Problem p = load();
  EXPECT_TRUE(p.has_expert);
  EXPECT_EQ(p.reference, kReference);
  EXPECT_TRUE(p.baseline.contains("int plain;"));
  // It can stand for the reference, too. Then the template is made of it.
  remove("reference.cu");
  expect_only(
      "baseline.cu: does not include \"args.h\"\nbaseline.cu:1:1: the region has no template: '// [template]' "
      "and lines that begin with '//| ' are missing");
  write("baseline.cu", kReference);
  p = load();
  EXPECT_FALSE(p.has_expert);
  EXPECT_EQ(p.reference, p.baseline);
}

TEST_F(Loader, TrackKernelNeedsABaselineAndAParallelism) {
  spoil("track = \"comm\"", "track = \"kernel\"\nparallelism = [\"XP\"]");
  const std::string text = messages();
  EXPECT_NE(text.find("parallelism 'XP': there are collective, TP,"), std::string::npos) << text;
  EXPECT_NE(text.find("baseline.cu: is missing: speeds of track kernel are relative to it"), std::string::npos) << text;
}

TEST_F(Loader, TheFoldersNameIsSnakeCase) {
  std::filesystem::rename(folder(), root_.path() + "/comm/p2p/Sample-1");
  const auto problem = load_problem(root_.path() + "/comm/p2p/Sample-1");
  ASSERT_FALSE(problem);
  EXPECT_EQ(problem.error().list[0].message,
            root_.path() + "/comm/p2p/Sample-1: the name 'Sample-1' is not snake_case");
}

TEST_F(Loader, LibrariesAreThoseOfTheTable) {
  spoil("[rules]\n", "[rules]\nlibraries = [\"nccl\"]\n");
  EXPECT_EQ(load().rules.libraries, std::vector<std::string>{"nccl"});
  spoil("\"nccl\"", "\"ncll\"");
  EXPECT_NE(messages().find("unknown library 'ncll'; did you mean 'nccl'?"), std::string::npos) << messages();
}

class Variant : public ProblemFolder {
 protected:
  Variant() {
    write("variants/nccl/variant.toml", kVariantToml);
    write("variants/nccl/statement.md", "By `nccl.h`, from `in` to `out`.\n");
    write("variants/nccl/reference.cu", kReference);
  }
  std::string variant() const { return folder() + "/variants/nccl"; }
  std::string messages_of_variant() const {
    const auto problem = load_problem(variant());
    std::string text;
    if (problem) return text;
    for (const Diagnostic& d : problem.error().list) text += d.message.substr(folder().size() + 1) + "\n";
    return text;
  }

  static constexpr std::string_view kVariantToml =
      "name = \"sample_nccl\"\ntitle = \"Over NCCL\"\nlibrary = \"nccl\"\nlevel = 1\nlevel_reason = \"One.\"\n"
      "provenance = \"Here.\"\n[rules]\nlibraries = [\"nccl\"]\n";
};

TEST_F(Variant, IsAProblemWithTheTensorsSizesAndOracleOfItsProblem) {
  const Problem whole = load();
  const auto problem = load_problem(variant());
  ASSERT_TRUE(problem) << messages_of_variant();
  EXPECT_EQ(problem->name, "sample_nccl");
  EXPECT_EQ(problem->title, "Over NCCL");
  EXPECT_EQ(problem->library, "nccl");
  EXPECT_EQ(problem->level, 1);
  EXPECT_EQ(problem->track, whole.track);
  EXPECT_EQ(problem->category, whole.category);
  EXPECT_EQ(problem->oracle, whole.oracle);
  EXPECT_EQ(problem->root, whole.root);
  EXPECT_EQ(problem->base, whole.folder);
  EXPECT_EQ(problem->sizes.size(), whole.sizes.size());
  EXPECT_EQ(problem->tensors.size(), whole.tensors.size());
  EXPECT_EQ(problem->rules.libraries, std::vector<std::string>{"nccl"});
  EXPECT_TRUE(problem->rules.forbid_in_run.empty());
  EXPECT_NE(problem->hash, whole.hash);
  // Whatever changes the problem's judgement changes the variant's.
  write("oracle.cpp", "FABRICBENCH_ORACLE(expect, fill)\n");
  EXPECT_NE(load_problem(variant())->hash, problem->hash);
}

TEST_F(Variant, SaysWhatIsWrongInItsOwnFile) {
  write("variants/nccl/variant.toml", std::string(kVariantToml) + "[[size]]\nname = \"x\"\n");
  EXPECT_NE(messages_of_variant().find("variants/nccl/variant.toml:"), std::string::npos) << messages_of_variant();
  write("variants/nccl/variant.toml", "library = \"nccl\"\n");
  EXPECT_NE(messages_of_variant().find("'title' is missing"), std::string::npos) << messages_of_variant();
  write("variants/nccl/variant.toml", kVariantToml);
  write("variants/nccl/oracle.cpp", "FABRICBENCH_ORACLE(expect)\n");
  EXPECT_EQ(messages_of_variant(),
            "variants/nccl/oracle.cpp: a variant has no such file (only variant.toml, statement.md, reference.cu and "
            "alternative.cu, README.md)\n");
}

TEST_F(Variant, IsInTheFolderOfItsLibrary) {
  std::filesystem::rename(variant(), folder() + "/variants/cublas");
  const auto problem = load_problem(folder() + "/variants/cublas");
  ASSERT_FALSE(problem);
  EXPECT_NE(problem.error().list[0].message.find("library 'nccl', but the folder is 'cublas'"), std::string::npos);
}

TEST_F(Variant, NeedsAProblemThatIsRight) {
  remove("oracle.cpp");
  EXPECT_EQ(messages_of_variant(), "oracle.cpp: is missing\n");
}

TEST_F(Variant, IsFoundInItsPackByName) {
  root_.write("pack.toml", "name = \"mine\"\nversion = \"1\"\n");
  for (const std::string& name : {std::string("sample_nccl"), std::string("sample/variants/nccl"), variant()}) {
    const auto pack = load_from_pack(root_.path(), name);
    ASSERT_TRUE(pack) << name;
    EXPECT_EQ(pack->problems.at(0).name, "sample_nccl");
    EXPECT_EQ(pack->root, root_.path());
  }
  const auto all = load_pack(root_.path());
  ASSERT_TRUE(all);
  ASSERT_EQ(all->problems.size(), 2u);
  EXPECT_EQ(all->problems[1].name, "sample_nccl");
}

}  // namespace
}  // namespace fb::catalog
