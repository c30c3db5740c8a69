#include "campaign/llm/key.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "campaign/llm/ask.h"
#include "common/base/strings.h"
#include "tests/unit/llm/environment.h"

namespace fb::llm {
namespace {

const std::string kKey = "sk-test/0123456789+abcdefghijKLMNOP\"=";

std::string problem_of(const Result<std::string>& result) {
  return result ? "none, it is '" + *result + "'" : result.error().list[0].message;
}

TEST(Key, ComesFromTheEnvironment) {
  const Variable first("FB_TEST_A", ""), second("FB_TEST_B", "  " + kKey + "\n");
  EXPECT_EQ(find_key({"FB_TEST_A", "FB_TEST_B"}), kKey);
  EXPECT_EQ(find_key({"FB_TEST_A"}), "");
}

TEST(Key, ComesFromAFileThatOnlyTheUserCanRead) {
  const ScratchFolder folder;
  const std::string file = folder.path("key");
  write_file(file, kKey + "\n");
  const Variable named("FB_TEST_A_FILE", file);
  for (const mode_t mode : {0640, 0604, 0660, 0601, 0610, 0644}) {
    ASSERT_EQ(chmod(file.c_str(), mode), 0);
    EXPECT_EQ(problem_of(find_key({"FB_TEST_A"})),
              "the key file " + file + " can be read by others: chmod 600 " + file);
  }
  for (const mode_t mode : {0600, 0400}) {
    ASSERT_EQ(chmod(file.c_str(), mode), 0);
    EXPECT_EQ(find_key({"FB_TEST_A"}), kKey);
  }
}

TEST(Key, ComesFromALineOfTheKeyFile) {
  const ScratchFolder folder;
  const std::string file = folder.path("keys");
  write_file(file, "# mine\nFB_TEST_AA=other\nexport FB_TEST_A = no\nexport FB_TEST_B='" + kKey + "'\n");
  ASSERT_EQ(chmod(file.c_str(), 0600), 0);
  const Variable named("FABRICBENCH_KEY_FILE", file);
  EXPECT_EQ(find_key({"FB_TEST_B"}), kKey);
  EXPECT_EQ(find_key({"FB_TEST_A"}), "");
  ASSERT_EQ(chmod(file.c_str(), 0644), 0);
  EXPECT_NE(problem_of(find_key({"FB_TEST_B"})).find("chmod 600"), std::string::npos);
}

TEST(Key, AFileOfSomebodyElseIsRefused) {
  const ScratchFolder folder;
  const std::string file = folder.path("key");
  write_file(file, kKey);
  ASSERT_EQ(chmod(file.c_str(), 0600), 0);
  if (geteuid() != 0 || chown(file.c_str(), 12345, 12345) != 0) GTEST_SKIP() << "only root can give files away";
  EXPECT_EQ(problem_of(read_secret_file(file)), "the key file " + file + " belongs to another user");
}

TEST(Key, WhatIsNoFileIsNamed) {
  const ScratchFolder folder;
  EXPECT_NE(problem_of(read_secret_file(folder.path("none"))).find("cannot read the key file"), std::string::npos);
  EXPECT_NE(problem_of(read_secret_file(folder.path())).find("is not a file"), std::string::npos);
}

TEST(Key, WithALineBreakInItIsNoKey) {
  const Variable set("FB_TEST_A", "abc\r\nX-Evil: 1");
  const std::string problem = problem_of(find_key({"FB_TEST_A"}));
  EXPECT_EQ(problem, "FB_TEST_A does not hold a key: it has characters that no key has");
}

TEST(Key, ThatIsMissingIsAskedForByName) {
  const Variable none("OPENAI_API_KEY", "");
  const auto ready = check_ready({.provider = "openai", .model = "m"});
  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().list[0].message,
            "no key for openai: set OPENAI_API_KEY (docs/guide/models.md has other ways)");
  const Variable set("OPENAI_API_KEY", kKey);
  EXPECT_TRUE(check_ready({.provider = "openai", .model = "m"}));
}

TEST(Redactor, TakesOutTheKeyInAllItsForms) {
  const Redactor redactor(kKey);
  EXPECT_EQ(redactor.text("a " + kKey + " b " + kKey), "a [key] b [key]");
  EXPECT_EQ(redactor.text(R"({"e": "sk-test/0123456789+abcdefghijKLMNOP\"="})"), R"({"e": "[key]"})");
  EXPECT_EQ(redactor.text(R"({"e": "sk-test\/0123456789+abcdefghijKLMNOP\"="})"), R"({"e": "[key]"})");
  EXPECT_EQ(redactor.text("?key=sk-test%2F0123456789%2BabcdefghijKLMNOP%22%3D&x"), "?key=[key]&x");
  EXPECT_EQ(redactor.text("sk-test/01234567"), "sk-test/01234567");
}

TEST(Redactor, TakesPartsOutOfComplaints) {
  const Redactor redactor(kKey);
  EXPECT_EQ(redactor.complaint("the key sk-test/0123***KLMNOP\"= is wrong"), "the key [key]***[key] is wrong");
  EXPECT_EQ(redactor.complaint("abcdefghijKLMNOP and " + kKey), "[key] and [key]");
  EXPECT_EQ(redactor.complaint("sk-test is short"), "sk-test is short");
}

TEST(Redactor, LeavesAnswersAloneWhereTheKeyIsAWord) {
  const Redactor redactor("ollama"), none("");
  EXPECT_EQ(redactor.text("ollama run"), "ollama run");
  EXPECT_EQ(redactor.complaint("ollama run"), "ollama run");
  EXPECT_EQ(none.complaint("anything"), "anything");
}

}  // namespace
}  // namespace fb::llm
