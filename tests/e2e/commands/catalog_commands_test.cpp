// fabricbench list, show, template and new, as a user meets them.

#include <nlohmann/json.hpp>

#include "catalog/sample.h"
#include "commands/run_tool.h"

namespace fb::catalog {
namespace {

class Commands : public ProblemFolder {
 protected:
  Commands() { root_.write("pack.toml", "name = \"mine\"\nversion = \"1.2.0\"\n"); }

  Output run_here(const std::string& command, const std::string& arguments) {
    return run_tool(command + " --problems " + root_.path() + " " + arguments);
  }
  std::string file(const std::string& name) const { return root_.path() + "/" + name; }
};

TEST_F(Commands, ListHasALineForEachProblem) {
  const Output all = run_here("list", "");
  EXPECT_EQ(all.exit_code, 0);
  EXPECT_EQ(all.text,
            "name    category  level  library  worlds  title\n"
            "sample  p2p       2      cuda     4 2 3   A title\n");
}

TEST_F(Commands, ListTakesFilters) {
  for (const char* filter : {"--category p2p", "--level 2", "--library cuda", "--track comm", "--tag b-c", "'s*'",
                             "'p2p/*'", "nothing sample", "--tag a --level 2 sample"})
    EXPECT_EQ(run_here("list", filter).exit_code, 0) << filter;
  for (const char* filter :
       {"--category ep", "--level 1", "--library nccl", "--track kernel", "--tag c", "'x*'", "--tag a --level 3"}) {
    const Output none = run_here("list", filter);
    EXPECT_EQ(none.exit_code, 1) << filter;
    EXPECT_TRUE(none.text.starts_with("fabricbench: none of the 1 problems of " + root_.path() + " matches"))
        << none.text;
  }
  EXPECT_TRUE(run_here("list", "--category ep")
                  .text.ends_with(" matches; of --category there are: p2p (`fabricbench list` alone shows all)\n"));
  EXPECT_TRUE(run_here("list", "--tag c")
                  .text.ends_with(" matches; of --tag there are: a b-c (`fabricbench list` alone shows all)\n"));
  EXPECT_TRUE(run_here("list", "simple").text.ends_with(" matches; did you mean 'sample'?\n"));
  EXPECT_EQ(run_here("list", "--level 4").exit_code, 2);
}

TEST_F(Commands, ListGivesJson) {
  const Output output = run_here("list", "--json");
  const auto json = nlohmann::json::parse(output.text);
  EXPECT_EQ(json["pack"]["name"], "mine");
  EXPECT_EQ(json["problems"][0]["name"], "sample");
}

TEST_F(Commands, ListShowsWhatIsRightAndSaysWhatIsWrong) {
  root_.write("comm/ep/broken/problem.toml", "title = 3\n");
  const Output output = run_here("list", "");
  EXPECT_EQ(output.exit_code, 2);
  EXPECT_NE(output.text.find("sample  p2p"), std::string::npos) << output.text;
  EXPECT_NE(output.text.find("/comm/ep/broken/problem.toml:1:9: 'title' must be text\n"), std::string::npos)
      << output.text;
}

TEST_F(Commands, AFolderThatIsNoPackIsSaid) {
  const Output output = run_tool("list --problems /nowhere");
  EXPECT_EQ(output.exit_code, 2);
  EXPECT_NE(output.text.find("--problems /nowhere: not a folder"), std::string::npos) << output.text;
  const Output empty = run_tool("list --problems /proc/self/fd");
  EXPECT_EQ(empty.exit_code, 2);
  EXPECT_NE(empty.text.find("/proc/self/fd/pack.toml: is missing"), std::string::npos) << empty.text;
}

TEST_F(Commands, ShowTellsAboutAProblem) {
  const Output text = run_here("show", "sample");
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_NE(text.text.find("struct Args {"), std::string::npos) << text.text;
  const Output json = run_here("show", "p2p/sample --json");
  EXPECT_EQ(nlohmann::json::parse(json.text)["pack"]["version"], "1.2.0");
  EXPECT_EQ(run_tool("show " + folder()).text, text.text);
}

TEST_F(Commands, AnUnknownNameBringsTheNearest) {
  const Output output = run_here("show", "simple");
  EXPECT_EQ(output.exit_code, 2);
  EXPECT_EQ(output.text,
            "fabricbench: no problem is called 'simple'; did you mean 'sample'? `fabricbench list` shows the "
            "problems\n");
  EXPECT_EQ(run_here("template", "simple").text, output.text);
}

TEST_F(Commands, TemplateGoesToStandardOutputOrAFile) {
  const Output text = run_here("template", "sample");
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_NE(text.text.find("// [solution]\nclass Solution {\n  // TODO\n};\n// [/solution]\n"), std::string::npos);
  EXPECT_EQ(run_here("template", "sample -o " + file("mine.cu")).exit_code, 0);
  EXPECT_EQ(read_file(file("mine.cu")), text.text);
}

TEST_F(Commands, TemplateOverwritesNothingUnlessForced) {
  write_file(file("mine.cu"), "my work");
  const Output refused = run_here("template", "sample -o " + file("mine.cu"));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_EQ(refused.text, "fabricbench: " + file("mine.cu") + " exists: --force overwrites it\n");
  EXPECT_EQ(read_file(file("mine.cu")), "my work");
  EXPECT_EQ(run_here("template", "sample --force -o " + file("mine.cu")).exit_code, 0);
  EXPECT_NE(read_file(file("mine.cu")), "my work");
}

TEST_F(Commands, NewMakesAProblemThatLoads) {
  EXPECT_EQ(run_here("new", "kernel/fusion/brand_new").exit_code, 0);
  const Output list = run_here("list", "brand_new");
  EXPECT_EQ(list.exit_code, 0) << list.text;
  EXPECT_NE(list.text.find("brand_new  fusion"), std::string::npos) << list.text;
}

TEST_F(Commands, NewMakesAPackOfAnEmptyFolder) {
  const std::string pack = file("packs/second");
  EXPECT_EQ(run_tool("new --problems " + pack + " comm/p2p/first").exit_code, 0);
  const Output list = run_tool("list --json --problems " + pack);
  EXPECT_EQ(list.exit_code, 0) << list.text;
  EXPECT_EQ(nlohmann::json::parse(list.text)["pack"]["name"], "second");
}

TEST_F(Commands, NewSpoilsNothing) {
  const std::string before = load().hash;
  EXPECT_EQ(run_here("new", "comm/p2p/sample").exit_code, 2);
  EXPECT_EQ(run_here("new", "comm/ep/sample").exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(file("ep")));
  EXPECT_EQ(load().hash, before);
  for (const char* name :
       {"sample", "p2p/sample", "comm/p2p/Sample", "comm/p2p/", "/p2p/x", "comm/../x", "a/b/c", "comm/a/b/c"})
    EXPECT_EQ(run_here("new", name).exit_code, 2) << name;
  root_.write("other/file", "x");
  EXPECT_EQ(run_tool("new --problems " + file("other") + " comm/p2p/x").exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(file("other/pack.toml")));
}

}  // namespace
}  // namespace fb::catalog
