// Two modules as one: what the driver sees of the candidate, and that nothing is seen the other way.

#include "common/ptx/link/link.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/ptx/parse/parser.h"

namespace fb::ptx {
namespace {

constexpr std::string_view kHead = ".version 8.5\n.target sm_90\n.address_size 64\n";

Module parsed(std::string_view body) {
  auto module = parse(std::string(kHead) + std::string(body));
  EXPECT_TRUE(module) << to_string(module.error(), "ptx");
  return module ? std::move(*module) : Module();
}

constexpr std::string_view kCandidate =
    ".file 1 \"candidate.cu\"\n"
    ".visible .global .u32 word = 1;\n"
    ".visible .func wait(.param .b64 self) { .loc 1 7 0\n ret; }\n"
    ".visible .entry barrier() { ret; }\n";
constexpr std::string_view kDriver =
    ".file 1 \"driver.cu\"\n"
    ".extern .func wait(.param .b64 self);\n"
    ".visible .global .u32 word = 2;\n"
    ".visible .entry barrier() {\n"
    "  .reg .b64 %p; .reg .b32 %r;\n"
    "  .loc 1 3 0\n"
    "  ld.global.u32 %r, [word];\n"
    "  { .param .b64 a; st.param.b64 [a], %p; call wait, (a); }\n"
    "  ret;\n}\n";

TEST(Link, TheDriverCallsTheCandidate) {
  const auto linked = link(parsed(kCandidate), parsed(kDriver));
  ASSERT_TRUE(linked) << to_string(linked.error(), "link");
  ASSERT_EQ(linked->functions.size(), 3u);
  const Function* barrier = linked->find_function("barrier", true);
  ASSERT_TRUE(barrier && barrier->of_driver);
  const auto call = std::ranges::find(barrier->body, Form::call, &Instruction::form);
  ASSERT_NE(call, barrier->body.end());
  const Function& callee = linked->functions[call->operands[1].index];
  EXPECT_EQ(callee.name, "wait");
  EXPECT_TRUE(callee.defined && !callee.of_driver);
  // Source lines are still those of its own file.
  EXPECT_EQ(linked->files[barrier->body[0].source.file], "driver.cu");
}

TEST(Link, ANameInBothMeansTwoThings) {
  const auto linked = link(parsed(kCandidate), parsed(kDriver));
  ASSERT_TRUE(linked);
  EXPECT_FALSE(linked->find_function("barrier")->of_driver);
  EXPECT_TRUE(linked->find_function("barrier", true)->of_driver);
  EXPECT_EQ(linked->find_variable("word")->init[0], 1);
  EXPECT_EQ(linked->find_variable("word", true)->init[0], 2);
  const Instruction& load = linked->find_function("barrier", true)->body[0];
  EXPECT_EQ(&linked->variables[load.operands[1].elements[0].index], linked->find_variable("word", true));
}

TEST(Link, TheCandidateGetsNothingOfTheDriver) {
  const auto linked = link(parsed(".extern .func turn();\n.visible .func wait(.param .b64 self) { call turn; ret; }\n"),
                           parsed(std::string(kDriver) + ".visible .func turn() { ret; }\n"));
  ASSERT_TRUE(linked);
  const Function& called = linked->functions[linked->find_function("wait")->body[0].operands[1].index];
  EXPECT_EQ(called.name, "turn");
  EXPECT_FALSE(called.defined);
}

TEST(Link, RefusesOtherParameters) {
  EXPECT_FALSE(link(parsed(".visible .func wait(.param .b32 self) { ret; }\n"), parsed(kDriver)));
  EXPECT_FALSE(link(parsed(".visible .func wait() { ret; }\n"), parsed(kDriver)));
}

}  // namespace
}  // namespace fb::ptx
