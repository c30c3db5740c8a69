// `fabricbench dev prompt` as a user meets it.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "commands/run_tool.h"
#include "common/base/strings.h"
#include "scratch_folder.h"

namespace fb {
namespace {

Output prompt(const std::string& arguments) { return run_tool("dev prompt " + arguments); }

std::string golden(const std::string& name) {
  return read_file(std::string(FB_SOURCE_DIR) + "/tests/unit/prompts/golden/" + name);
}

bool has(const Output& output, std::string_view part) { return output.text.find(part) != std::string::npos; }

TEST(PromptCommand, PrintsThePromptsThatCampaignsUse) {
  EXPECT_EQ(prompt("all_reduce_one_shot").text, golden("zero_shot_all_reduce_one_shot.md"));
  EXPECT_EQ(prompt("reduce_scatter_pull --variant few_shot").text, golden("few_shot_reduce_scatter_pull.md"));
  EXPECT_EQ(prompt("p2p/peer_copy --example").text, golden("example_peer_copy.md"));
  EXPECT_EQ(prompt("push_copy --system").text, golden("system.md"));
  const Output both = prompt("all_reduce_one_shot --json");
  ASSERT_EQ(both.exit_code, 0) << both.text;
  const auto json = nlohmann::json::parse(both.text);
  EXPECT_EQ(json["system"], golden("system.md"));
  EXPECT_EQ(json["user"], golden("zero_shot_all_reduce_one_shot.md"));
  EXPECT_EQ(prompt("--list").text, "few_shot\nzero_shot\n");
}

TEST(PromptCommand, MakesFeedbackOfVerdictsAndAttempts) {
  const ScratchFolder folder;
  const std::string answer = folder.write("answer.md", "int x;\nint y\n");
  const std::string verdict = R"({"class": "compile_error", "summary": "answer.md:2:6: expected ';'",
      "explanation": "answer.md:2:6: expected ';'\n", "problem": "push_copy", "seed": "7"})";
  const Output of_verdict =
      prompt("push_copy --feedback " + folder.write("verdict.json", verdict) + " --answer " + answer);
  EXPECT_EQ(of_verdict.exit_code, 0);
  EXPECT_TRUE(has(of_verdict, "     1 | int x;\n>    2 | int y\n")) << of_verdict.text;
  const std::string attempt = R"({"model": "m", "problem": "push_copy", "sample": 1, "round": 1,
      "call": {"end": "complete"}, "verdict": )" +
                              verdict + "}";
  EXPECT_EQ(prompt("push_copy --feedback " + folder.write("attempt.json", attempt) + " --answer " + answer).text,
            of_verdict.text);
  EXPECT_TRUE(has(prompt("push_copy --json --feedback " + folder.write("attempt.json", attempt)),
                  "\"user\": \"Your answer did"));
}

TEST(PromptCommand, SaysWhatIsWrong) {
  const ScratchFolder folder;
  const Output unknown = prompt("push_copi");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_TRUE(has(unknown, "push_copy")) << unknown.text;
  EXPECT_TRUE(has(prompt(""), "PROBLEM is required"));
  EXPECT_TRUE(
      has(prompt("push_copy --variant none"), "there is no prompt variant 'none'; there are: few_shot zero_shot"));
  EXPECT_TRUE(has(prompt("push_copy --feedback /nowhere.json"), "/nowhere.json"));
  EXPECT_TRUE(
      has(prompt("push_copy --feedback " + folder.write("none.json", "{}")), "holds neither an attempt nor a verdict"));
  const std::string other = R"({"class": "wrong", "summary": "x", "problem": "pull_copy", "seed": "7"})";
  EXPECT_TRUE(has(prompt("push_copy --feedback " + folder.write("other.json", other)), "is about 'pull_copy'"));
  EXPECT_EQ(prompt("push_copy --answer x.md").exit_code, 2);
  EXPECT_EQ(prompt("push_copy --system --json").exit_code, 2);
  setenv("FABRICBENCH_PROMPTS", "/nowhere", 1);
  const Output nowhere = prompt("push_copy --system");
  unsetenv("FABRICBENCH_PROMPTS");
  EXPECT_EQ(nowhere.exit_code, 2);
}

}  // namespace
}  // namespace fb
