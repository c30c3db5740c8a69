#include "campaign/llm/dialect.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "campaign/llm/failure.h"
#include "common/base/strings.h"

namespace fb::llm {
namespace {

const ProviderTable& table() {
  static const auto kTable = load_providers();
  return **kTable;
}

Request conversation(const std::string& provider) {
  Request request;
  request.model = {.label = "m", .provider = provider, .model = "some/model:1"};
  request.system = "You write \"code\".";
  request.messages = {{.role = Role::user, .text = "Write it.\n"},
                      {.role = Role::assistant, .text = ""},
                      {.role = Role::user, .text = "It does not compile: ±"}};
  return request;
}

Answer read_whole(const std::string& provider, std::string_view body) {
  const Provider& row = *table().find(provider);
  const auto decoder = dialect(row.dialect).decoder(row);
  decoder->take_whole(body);
  return decoder->answer();
}

// FABRICBENCH_APPROVE=1 writes them anew.
void expect_golden(const std::string& name, const std::string& text) {
  const std::string file = std::string(FB_SOURCE_DIR "/tests/unit/llm/golden/") + name;
  if (std::getenv("FABRICBENCH_APPROVE") != nullptr) write_file(file, text);
  EXPECT_EQ(text, read_file(file));
}

class Rows : public testing::TestWithParam<std::string> {};

TEST_P(Rows, PutARequestIntoTheProvidersWords) {
  const Provider& row = *table().find(GetParam());
  Request request = conversation(row.name);
  std::string all;
  const auto add = [&](const char* what, bool stream) {
    const WireRequest wire = dialect(row.dialect).encode(row, request, stream);
    all += std::string("// ") + what + "\nPOST " + wire.path + "\n" + Json::parse(wire.body).dump(2) + "\n";
  };
  add("as it is", true);
  request.messages.resize(1);
  request.system.clear();
  request.model.temperature = 0.25;
  request.model.max_output_tokens = 1234;
  add("one message, temperature and limit, whole", false);
  for (const char* effort : {"none", "high", "4096"}) {
    request.model.effort = effort;
    if (effort_fragment(row, effort)) add((std::string("effort ") + effort).c_str(), false);
  }
  expect_golden(row.name + ".txt", all);
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const Provider& row : table().providers) names.push_back(row.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, Rows, testing::ValuesIn(all_names()), [](const auto& about) {
  std::string name = about.param;
  std::erase(name, '-');
  return name;
});

TEST(Dialect, EveryGoldenFileBelongsToARow) {
  for (const auto& file : std::filesystem::directory_iterator(FB_SOURCE_DIR "/tests/unit/llm/golden"))
    EXPECT_NE(table().find(file.path().stem().string()), nullptr) << file.path();
}

TEST(Dialect, AnEffortThatAProviderDoesNotHaveIsNamed) {
  const auto effort = effort_fragment(*table().find("qwen"), "high");
  ASSERT_FALSE(effort);
  EXPECT_EQ(effort.error().list[0].message, "qwen has no effort 'high'; known: a number of tokens, enabled, none");
  const auto number = effort_fragment(*table().find("openai"), "4096");
  ASSERT_FALSE(number);
  EXPECT_EQ(number.error().list[0].message, "openai takes no number of tokens as effort");
}

TEST(Dialect, OpenAiCountsCachedTokensAmongTheInput) {
  const Answer answer = read_whole("openai", R"({"id": "a", "model": "m", "choices": [{"message": {"content": "x"},
      "finish_reason": "stop"}], "usage": {"prompt_tokens": 100, "completion_tokens": 30, "total_tokens": 130,
      "prompt_tokens_details": {"cached_tokens": 64}, "completion_tokens_details": {"reasoning_tokens": 20}}})");
  const record::Usage expected = {
      .input_tokens = 100, .cached_tokens = 64, .output_tokens = 30, .reasoning_tokens = 20};
  EXPECT_EQ(answer.usage, expected);
  EXPECT_EQ(answer.stop_reason, "stop");
}

TEST(Dialect, ReasoningBesideTheOutputIsAddedToIt) {
  const Answer answer = read_whole("xai", R"({"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}],
      "usage": {"prompt_tokens": 100, "completion_tokens": 30, "total_tokens": 150,
      "completion_tokens_details": {"reasoning_tokens": 20}}})");
  EXPECT_EQ(answer.usage->output_tokens, 50u);
}

TEST(Dialect, AnthropicLeavesCachedTokensOut) {
  const Answer answer =
      read_whole("anthropic", R"({"content": [{"type": "text", "text": "x"}], "stop_reason": "end_turn",
      "usage": {"input_tokens": 5, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 35, "output_tokens": 9}})");
  const record::Usage expected = {
      .input_tokens = 100, .cached_tokens = 60, .cache_write_tokens = 35, .output_tokens = 9};
  EXPECT_EQ(answer.usage, expected);
}

TEST(Dialect, NullsAndNonsenseInAnAnswerAreNoCrash) {
  EXPECT_EQ(read_whole("openai", R"({"choices": null, "usage": null})").text, "");
  EXPECT_EQ(read_whole("openai", R"({"choices": [{"message": null, "finish_reason": null}], "usage": 7})").text, "");
  EXPECT_EQ(read_whole("openai", R"({"choices": [{"message": {"content": 7}}], "usage": {"prompt_tokens": -1}})").text,
            "");
  EXPECT_EQ(read_whole("anthropic", R"({"content": [null, 5, {"type": "text"}], "usage": [1]})").text, "");
  EXPECT_EQ(read_whole("google", R"({"candidates": [{"content": {"parts": [null, {"text": 5}]}}]})").text, "");
  EXPECT_EQ(read_whole("google", R"({"candidates": [5], "promptFeedback": 5})").text, "");
  EXPECT_THROW(read_whole("openai", "[]"), std::exception);
  EXPECT_THROW(read_whole("anthropic", "{}"), std::exception);
  EXPECT_THROW(read_whole("google", "5"), std::exception);
}

// What walks through it would use up the stack.
TEST(Dialect, AnAnswerThatIsNestedTooDeeplyIsNone) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  for (const char* provider : {"openai", "anthropic", "google"}) {
    EXPECT_THROW(read_whole(provider, R"({"error": {"code": )" + deep + "}}"), std::runtime_error) << provider;
    EXPECT_THROW(read_whole(provider, R"({"choices": )" + deep + "}"), std::runtime_error) << provider;
  }
  const HttpAnswer http{
      .end = HttpAnswer::End::whole, .status = 500, .headers = {}, .body = R"({"error": )" + deep + "}"};
  Contact contact;
  contact.provider = table().find("openai");
  const Failure failure = failure_of_status(http, contact, {.provider = "openai"}, Redactor(""));
  EXPECT_TRUE(failure.error.contains("status 500")) << failure.error;
}

TEST(Dialect, APriceIsNeverBelowNothing) {
  const auto price = [](const std::string& cost) {
    return read_whole("openrouter", R"({"choices": [], "usage": {"cost": )" + cost + "}}").usd;
  };
  EXPECT_EQ(price("0.25"), 0.25);
  EXPECT_EQ(price("-1000"), 0);
}

TEST(Dialect, AnErrorSaysWhetherAskingAgainHelps) {
  const Answer busy =
      read_whole("anthropic", R"({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}})");
  EXPECT_EQ(busy.error, "busy");
  EXPECT_FALSE(busy.error_is_final);
  const Answer wrong = read_whole("openrouter", R"({"error": {"code": 400, "message": "no"}})");
  EXPECT_EQ(wrong.error, "no");
  EXPECT_TRUE(wrong.error_is_final);
  EXPECT_EQ(read_whole("openai", R"({"error": "plain"})").error, "plain");
}

TEST(Dialect, ThoughtsInFrontOfAnAnswerAreTakenOff) {
  EXPECT_EQ(without_thoughts("\n<think>a\nb</think>\n\n  code\n"), "code\n");
  EXPECT_EQ(without_thoughts("code <think>a</think>"), "code <think>a</think>");
  EXPECT_EQ(without_thoughts("<think>never ends"), "");
}

}  // namespace
}  // namespace fb::llm
