#include "judge/catalog/pack.h"

#include <cstdlib>

#include "judge/catalog/statement.h"
#include "sample.h"

namespace fb::catalog {
namespace {

class PackFolder : public ProblemFolder {
 protected:
  PackFolder() { root_.write("pack.toml", "name = \"mine\"\nversion = \"1.2.0\"\n"); }

  void copy_to(const std::string& folder) const {
    std::filesystem::create_directories(std::filesystem::path(root_.path()) / folder);
    std::filesystem::copy(this->folder(), std::filesystem::path(root_.path()) / folder);
  }
  std::string errors_of(const Result<Pack>& pack) const {
    std::string text;
    if (!pack) {
      for (const Diagnostic& d : pack.error().list) text += d.message + "\n";
    }
    for (size_t at; (at = text.find(root_.path())) != std::string::npos;) text.replace(at, root_.path().size(), "ROOT");
    return text;
  }
};

TEST_F(PackFolder, IsLoadedWithAllItsProblems) {
  copy_to("comm/p2p/another");
  root_.write(".git/config/x", "not a problem");
  const auto pack = load_pack(root_.path());
  ASSERT_TRUE(pack) << errors_of(pack);
  EXPECT_EQ(pack->name, "mine");
  EXPECT_EQ(pack->version, "1.2.0");
  EXPECT_EQ(pack->root, root_.path());
  ASSERT_EQ(pack->problems.size(), 2u);
  EXPECT_EQ(pack->problems[0].name, "another");
  EXPECT_EQ(pack->problems[1].name, "sample");
}

TEST_F(PackFolder, CollectsTheErrorsOfAllFolders) {
  copy_to("comm/ep/sample");
  copy_to("comm/p2p/another");
  std::filesystem::remove(root_.path() + "/comm/p2p/another/oracle.cpp");
  root_.write("pack.toml", "name = \"mine\"\n");
  EXPECT_EQ(errors_of(load_pack(root_.path())),
            "ROOT/pack.toml:1:1: 'version' is missing\n"
            "ROOT/comm/ep/sample/problem.toml:3:12: category 'p2p', but the folder is in 'ep'\n"
            "ROOT/comm/p2p/another/oracle.cpp: is missing\n"
            "ROOT/comm/p2p/sample: comm/ep/sample has the same name\n");
}

TEST_F(PackFolder, WhatIsRightCanBeReadAnyway) {
  copy_to("comm/p2p/another");
  std::filesystem::remove(root_.path() + "/comm/p2p/another/oracle.cpp");
  Errors errors;
  const Pack pack = read_pack(root_.path(), errors);
  EXPECT_EQ(pack.problems.size(), 1u);
  EXPECT_EQ(errors.list.size(), 1u);
}

TEST_F(PackFolder, NeedsItsFile) {
  std::filesystem::remove(root_.path() + "/pack.toml");
  EXPECT_NE(errors_of(load_pack(root_.path())).find("ROOT/pack.toml: is missing, so ROOT is not a pack"),
            std::string::npos);
  EXPECT_FALSE(load_from_pack(root_.path(), "nothing"));
  EXPECT_FALSE(load_pack("/nowhere"));
}

TEST_F(PackFolder, GivesOneProblemByNameOrPath) {
  copy_to("comm/p2p/broken");
  std::filesystem::remove(root_.path() + "/comm/p2p/broken/oracle.cpp");
  for (const std::string& name :
       {std::string("sample"), std::string("p2p/sample"), std::string("comm/p2p/sample"), folder(), folder() + "/"}) {
    const auto pack = load_from_pack(root_.path(), name);
    ASSERT_TRUE(pack) << name << errors_of(pack);
    EXPECT_EQ(pack->name, "mine");
    ASSERT_EQ(pack->problems.size(), 1u);
    EXPECT_EQ(pack->problems[0].name, "sample");
  }
  EXPECT_EQ(errors_of(load_from_pack(root_.path(), "broken")), "ROOT/comm/p2p/broken/oracle.cpp: is missing\n");
}

TEST_F(PackFolder, AFolderBringsItsOwnPack) {
  const ScratchFolder other;
  other.write("pack.toml", "name = \"other\"\nversion = \"3\"\n");
  const auto pack = load_from_pack(other.path(), folder());
  ASSERT_TRUE(pack) << errors_of(pack);
  EXPECT_EQ(pack->name, "mine");
}

TEST_F(PackFolder, SuggestsTheNearestNames) {
  copy_to("comm/p2p/all_gather_push");
  EXPECT_EQ(errors_of(load_from_pack(root_.path(), "simple")),
            "no problem is called 'simple'; did you mean 'sample'? `fabricbench list` shows the problems\n");
  EXPECT_EQ(
      errors_of(load_from_pack(root_.path(), "ep/gather")),
      "no problem is called 'ep/gather'; did you mean 'all_gather_push'? `fabricbench list` shows the problems\n");
  EXPECT_EQ(errors_of(load_from_pack(root_.path(), "qqq")),
            "no problem is called 'qqq': `fabricbench list` shows the problems\n");
}

TEST_F(PackFolder, SaysWhatWasGivenInPlaceOfAName) {
  EXPECT_EQ(errors_of(load_from_pack(root_.path(), "p2p")),
            "'p2p' is a category: `fabricbench list --category p2p` shows its problems\n");
  const std::string file = root_.write("elsewhere/solution.cu", "int x;\n");
  EXPECT_EQ(errors_of(load_from_pack(root_.path(), file)),
            "'ROOT/elsewhere/solution.cu' is a file, and the name of a problem is needed: `fabricbench list` shows the "
            "problems\n");
  const std::string other = root_.path() + "/elsewhere";
  EXPECT_EQ(errors_of(load_from_pack(root_.path(), other)),
            "'ROOT/elsewhere"
            "' is a folder without problem.toml, and no problem has this name: `fabricbench list` shows the "
            "problems\n");
}

TEST_F(PackFolder, AsksWhichOfTwo) {
  copy_to("comm/ep/sample");
  EXPECT_EQ(errors_of(load_from_pack(root_.path(), "sample")),
            "'sample' is ambiguous: comm/ep/sample or comm/p2p/sample\n");
}

TEST_F(PackFolder, CanBeChosenByTheEnvironment) {
  setenv("FABRICBENCH_PROBLEMS", root_.path().c_str(), 1);
  EXPECT_EQ(locate_problems(), root_.path());
  setenv("FABRICBENCH_PROBLEMS", "/nowhere", 1);
  EXPECT_FALSE(locate_problems());
  unsetenv("FABRICBENCH_PROBLEMS");
  EXPECT_EQ(locate_problems(), std::string(FB_SOURCE_DIR) + "/problems");
}

TEST(OurPack, LoadsAndItsStatementsSayEverything) {
  Errors errors;
  const Pack pack = read_pack(std::string(FB_SOURCE_DIR) + "/problems", errors);
  for (const Diagnostic& d : errors.list) ADD_FAILURE() << d.message;
  EXPECT_EQ(pack.name, "fabricbench");
  EXPECT_FALSE(pack.problems.empty());
  for (const Problem& problem : pack.problems) {
    for (const Diagnostic& d : lint_statement(problem)) ADD_FAILURE() << problem.folder << "/" << d.message;
  }
}

}  // namespace
}  // namespace fb::catalog
