#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "campaign/prompts/prompt.h"
#include "judge/catalog/markers.h"
#include "judge/catalog/pack.h"
#include "judge/catalog/source.h"
#include "prompts/golden.h"
#include "scratch_folder.h"
#include "sdk/include/fabricbench/oracle.h"

namespace fb::prompts {
namespace {

namespace fs = std::filesystem;
using catalog::Problem;

const catalog::Pack& pack() {
  static const catalog::Pack all = [] {
    auto loaded = catalog::load_pack(std::string(FB_SOURCE_DIR) + "/problems");
    EXPECT_TRUE(loaded) << message_of(loaded);
    return std::move(*loaded);
  }();
  return all;
}

const Problem& problem(const std::string& name) {
  const auto found = std::ranges::find(pack().problems, name, &Problem::name);
  EXPECT_NE(found, pack().problems.end()) << name;
  return *found;
}

Prompt ask(const std::string& name, const Options& options) {
  auto prompt = first_prompt(pack(), problem(name), options);
  EXPECT_TRUE(prompt) << message_of(prompt);
  return prompt.value_or(Prompt{});
}

// Lines that say something.
std::set<std::string> telling_lines(std::string_view text) {
  constexpr size_t kShortest = 12;
  std::set<std::string> lines;
  for (const std::string_view line : catalog::lines_of(text)) {
    if (trim(line).size() >= kShortest) lines.emplace(trim(line));
  }
  return lines;
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

TEST(FirstPrompt, IsAsApproved) {
  expect_golden("system.md", ask("all_reduce_one_shot", {}).system);
  expect_golden("zero_shot_all_reduce_one_shot.md", ask("all_reduce_one_shot", {}).user);
  expect_golden("zero_shot_device_barrier.md", ask("device_barrier", {}).user);
  expect_golden("zero_shot_moe_dispatch.md", ask("moe_dispatch", {}).user);
  expect_golden("example_peer_copy.md", ask("peer_copy", {.worked_example = true}).user);
  expect_golden("few_shot_reduce_scatter_pull.md", ask("reduce_scatter_pull", {.variant = "few_shot"}).user);
}

TEST(FirstPrompt, HasTheseVariants) {
  EXPECT_EQ(variants(), (std::vector<std::string>{"few_shot", "zero_shot"}));
  const auto unknown = first_prompt(pack(), problem("push_copy"), {.variant = "../system"});
  ASSERT_FALSE(unknown);
  EXPECT_TRUE(has(message_of(unknown), "there is no prompt variant '../system'; there are: few_shot zero_shot"));
}

TEST(FirstPrompt, OfEveryProblemSaysAllThatASolverMayKnow) {
  ASSERT_GE(pack().problems.size(), 24u);
  for (const Problem& p : pack().problems) {
    for (const std::string& variant : variants()) {
      const std::string text = ask(p.name, {.variant = variant}).user;
      SCOPED_TRACE(p.name + ", " + variant);
      EXPECT_TRUE(has(text, trim(p.statement)));
      EXPECT_TRUE(has(text, *catalog::make_template(p)));
      EXPECT_TRUE(has(text, p.driver));
      for (const auto& [name, about] : p.parameters) EXPECT_TRUE(has(text, "- `" + name + "`: " + about)) << name;
      for (const auto& tensor : p.tensors) EXPECT_TRUE(has(text, "| `" + tensor.name + "` | ")) << tensor.name;
      for (const auto& size : p.sizes) EXPECT_TRUE(has(text, "| " + size.name + " | ")) << size.name;
      const std::string worlds = std::to_string(p.worlds.front());
      EXPECT_TRUE(has(text, "Numbers of ranks (`world`): " + worlds));
      EXPECT_FALSE(has(text, "{{"));  // no gap is left
    }
  }
}

TEST(FirstPrompt, OfNoProblemTellsItsSolution) {
  for (const Problem& p : pack().problems) {
    std::set<std::string> given = telling_lines(*catalog::make_template(p));
    given.merge(telling_lines(p.driver));
    given.merge(telling_lines(p.statement));
    std::set<std::string> secret;
    for (const std::string& source : {p.reference, p.alternative, read_file(p.oracle)})
      secret.merge(telling_lines(source));
    for (const std::string& variant : variants()) {
      for (const bool example : {false, true}) {
        const std::string text = ask(p.name, {.variant = variant, .worked_example = example}).user;
        // Solutions resemble each other: what stands in an example that belongs to another problem is no secret.
        std::set<std::string> examples;
        for (const Problem& other : pack().problems) {
          if (!has(text, "<example>\n" + std::string(trim(other.statement)))) continue;
          EXPECT_NE(other.name, p.name);
          EXPECT_NE(other.category, p.category);
          examples.merge(telling_lines(other.reference));
        }
        EXPECT_EQ(examples.empty(), variant == "zero_shot" && !example);
        for (const std::string& line : telling_lines(text)) {
          if (given.contains(line) || examples.contains(line)) continue;
          EXPECT_FALSE(secret.contains(line)) << p.name << ", " << variant << ": " << line;
        }
      }
    }
  }
}

TEST(FirstPrompt, SaysWhatTheOracleSaysAboutRounding) {
  using fabricbench::oracle::unit_roundoff;
  using Oracle = fabricbench::oracle::DType;
  EXPECT_EQ(unit_roundoff(Oracle::f32), 0x1p-24);
  EXPECT_EQ(unit_roundoff(Oracle::bf16), 0x1p-8);
  EXPECT_TRUE(has(ask("all_reduce_one_shot", {}).user, "at most 2^-24 (f32) of the value"));
  EXPECT_TRUE(has(ask("all_gather_gemm", {}).user, "at most 2^-8 (bf16) of the value"));
  EXPECT_FALSE(has(ask("push_copy", {}).user, "of the value"));
}

TEST(FirstPrompt, NamesHeadersThatExist) {
  const std::string text = read_file(std::string(FB_SOURCE_DIR) + "/prompts/parts/toolchain.md");
  size_t headers = 0;
  for (size_t at = text.find("`<"); at != std::string::npos; at = text.find("`<", at + 1)) {
    const std::string header = text.substr(at + 2, text.find('>', at) - at - 2);
    EXPECT_TRUE(fs::exists(std::string(FB_SOURCE_DIR) + "/sdk/include/" + header)) << header;
    ++headers;
  }
  EXPECT_GE(headers, 10u);
}

TEST(FirstPrompt, TakesExamplesAlsoForAPackThatHasNone) {
  // As `fabricbench dev prompt` loads it: one problem, from another place.
  const ScratchFolder folder;
  const fs::path root = folder.path();
  fs::create_directories(root / "comm/p2p");
  fs::copy(problem("push_copy").folder, root / "comm/p2p/push_copy", fs::copy_options::recursive);
  write_file((root / "pack.toml").string(), "name = \"other\"\nversion = \"1\"\n");
  const auto other = catalog::load_from_pack(root.string(), "push_copy");
  ASSERT_TRUE(other) << message_of(other);
  const auto prompt = first_prompt(*other, other->problems.front(), {.variant = "few_shot"});
  ASSERT_TRUE(prompt) << message_of(prompt);
  EXPECT_TRUE(has(prompt->user, trim(problem("all_reduce_one_shot").statement)));
  EXPECT_TRUE(has(prompt->user, trim(problem("all_to_all").statement)));
}

// A folder of one's own, as docs/guide/prompts.md describes it.
class OwnPrompts : public testing::Test {
 protected:
  void SetUp() override {
    fs::copy(std::string(FB_SOURCE_DIR) + "/prompts", folder_, fs::copy_options::recursive);
    setenv("FABRICBENCH_PROMPTS", folder_.c_str(), 1);
  }
  void TearDown() override { unsetenv("FABRICBENCH_PROMPTS"); }
  void write(const std::string& file, std::string_view text) { write_file((folder_ / file).string(), text); }
  std::string complaint(const std::string& variant) {
    const auto prompt = first_prompt(pack(), problem("push_copy"), {.variant = variant});
    EXPECT_FALSE(prompt);
    return message_of(prompt);
  }

  ScratchFolder scratch_;
  const fs::path folder_ = scratch_.path("prompts");
};

TEST_F(OwnPrompts, AreFiles) {
  write("variants/terse.md",
        "{{statement}}\n\n{{template}}\n{{omit driver}}{{omit data}}{{omit tolerances}}{{omit rules}}{{omit "
        "judging}}{{omit "
        "machine}}{{omit toolchain}}{{omit answer}}{{omit example}}{{omit examples}}\n");
  EXPECT_EQ(variants(), (std::vector<std::string>{"few_shot", "terse", "zero_shot"}));
  const std::string text = ask("push_copy", {.variant = "terse"}).user;
  EXPECT_TRUE(text.starts_with("# Copy by storing into a peer\n"));
  EXPECT_TRUE(text.ends_with("// [/solution]\n```\n")) << text;
}

TEST_F(OwnPrompts, AreCheckedStrictly) {
  write("variants/wrong.md", "{{statment}}\n");
  const std::string message = complaint("wrong");
  EXPECT_TRUE(has(message, "variants/wrong.md:1: there is no {{statment}}")) << message;
  EXPECT_TRUE(has(message, "{{template}} is not used")) << message;
  write("parts/machine.md", "nothing\n");
  EXPECT_TRUE(has(complaint("zero_shot"), "parts/machine.md:2: {{gpu}} is not used"));
  fs::remove(folder_ / "parts/judging.md");
  EXPECT_TRUE(has(complaint("zero_shot"), "parts/judging.md is missing"));
  write("examples.txt", "no_such_problem\n");
  EXPECT_TRUE(has(complaint("few_shot"), "no_such_problem"));
  write("examples.txt", "push_copy\npull_copy\n");
  EXPECT_TRUE(has(complaint("few_shot"), "examples.txt has 1 examples for 'push_copy', 2 are wanted"));
  fs::remove(folder_ / "system.md");
  EXPECT_TRUE(variants().empty());
  EXPECT_TRUE(has(complaint("zero_shot"), "there is no prompt variant"));
}

}  // namespace
}  // namespace fb::prompts
