#include "campaign/llm/local_providers.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "campaign/llm/ask.h"
#include "common/base/strings.h"
#include "tests/unit/llm/environment.h"

namespace fb::llm {
namespace {

namespace fs = std::filesystem;
using record::AnswerEnd;
using namespace std::chrono_literals;

Request request_to(const std::string& provider, const std::string& model) {
  Request request;
  request.model = {.label = "mine", .provider = provider, .model = model};
  request.messages = {{.role = Role::user, .text = "the prompt"}};
  request.problem = "push_copy";
  request.sample = 2;
  request.round = 3;
  return request;
}

Response run(const std::string& command, const AskOptions& options = {}) {
  return ask(request_to("command", command), options);
}

TEST(Command, ReadsThePromptAndWritesTheAnswer) {
  const Response response = run("tr a-z A-Z");
  EXPECT_EQ(response.text, "THE PROMPT");
  EXPECT_EQ(response.request_body, "the prompt");
  EXPECT_EQ(response.call.end, AnswerEnd::complete) << response.call.error;
  EXPECT_EQ(response.call.stop_reason, "exit 0");
  EXPECT_EQ(response.call.tries, 1u);
  EXPECT_EQ(response.call.usd, std::nullopt);
  EXPECT_GT(response.call.seconds, 0);
}

TEST(Command, SeesTheWholeConversation) {
  Request request = request_to("command", "cat /dev/stdin");
  request.system = "be brief";
  request.messages.push_back({.role = Role::assistant, .text = "my code\n"});
  request.messages.push_back({.role = Role::user, .text = "wrong"});
  EXPECT_EQ(ask(request).text,
            "===== system =====\n\nbe brief\n\n===== user =====\n\nthe prompt\n\n===== your earlier answer =====\n\n"
            "my code\n\n\n===== user =====\n\nwrong\n");
}

TEST(Command, IsToldWhatItIsFor) {
  const Variable stale("FABRICBENCH_PROBLEM", "another"), own("MY_SETTING", "kept");
  EXPECT_EQ(run("echo $FABRICBENCH_PROBLEM $FABRICBENCH_SAMPLE $FABRICBENCH_ROUND $FABRICBENCH_MODEL $MY_SETTING").text,
            "push_copy 2 3 mine kept\n");
}

TEST(Command, ThatFailsIsNoAnswer) {
  const Response response = run("echo half; printf 'first\\nlast words\\n' >&2; exit 3");
  EXPECT_EQ(response.call.end, AnswerEnd::failed);
  EXPECT_EQ(response.call.error, "the command ended with exit 3: first last words");
  EXPECT_EQ(run("kill -9 $$").call.error, "the command ended with signal 9");
  EXPECT_EQ(run("nothing_of_that_name").call.stop_reason, "exit 127");
  EXPECT_EQ(run("true").call.end, AnswerEnd::empty);
}

// The number that a command wrote into a file before it hung.
pid_t number_in(const std::string& file) {
  for (int i = 0; i < 500; ++i, std::this_thread::sleep_for(10ms)) {
    std::error_code ignored;
    if (fs::exists(file, ignored) && fs::file_size(file, ignored) > 0) return std::stoi(read_file(file));
  }
  return 0;
}

// Gone, or at least dead: the process that inherits an orphan may be slow to reap it.
bool is_gone(pid_t process) {
  for (int i = 0; i < 500; ++i, std::this_thread::sleep_for(10ms)) {
    if (kill(process, 0) != 0) return true;
    std::error_code ignored;
    const std::string status = "/proc/" + std::to_string(process) + "/stat";
    if (!fs::exists(status, ignored)) return true;
    try {
      if (read_file(status).contains(") Z ")) return true;
    } catch (const std::exception&) {
      return true;
    }
  }
  return false;
}

TEST(Command, IsEndedWithItsChildrenWhenTimeIsUp) {
  const ScratchFolder folder;
  const auto start = std::chrono::steady_clock::now();
  const Response response =
      run("sleep 100 & echo $! > " + folder.path("pid") + "; wait", {.try_timeout = std::chrono::seconds(2)});
  EXPECT_LT(std::chrono::steady_clock::now() - start, 30s);
  EXPECT_EQ(response.call.end, AnswerEnd::failed);
  EXPECT_TRUE(response.call.error.starts_with("the command was ended after 2")) << response.call.error;
  const pid_t child = number_in(folder.path("pid"));
  ASSERT_GT(child, 0);
  EXPECT_TRUE(is_gone(child));
}

TEST(Command, LeavesNothingBehind) {
  const ScratchFolder folder;
  const Response response = run("sleep 100 & echo $! > " + folder.path("pid") + "; echo done");
  EXPECT_EQ(response.text, "done\n");
  EXPECT_TRUE(is_gone(number_in(folder.path("pid"))));
}

TEST(Command, ThatNeverStopsWritingIsEnded) {
  const Response response = run("yes", {.most_bytes = 1u << 20});
  EXPECT_EQ(response.call.error, "the command wrote more than 1048576 bytes");
  EXPECT_EQ(response.text, "");
  EXPECT_EQ(run("yes >&2", {.try_timeout = 300ms}).call.stop_reason, "timeout");
}

TEST(Command, CanBeCancelled) {
  std::atomic<int> looks = 0;
  const Response response = run("sleep 100", {.cancelled = [&] { return ++looks > 2; }});
  EXPECT_EQ(response.call.error, "cancelled");
  EXPECT_EQ(response.call.end, AnswerEnd::failed);
}

TEST(Command, LongPromptsAndAnswersComeThrough) {
  Request request = request_to("command", "cat");
  request.messages[0].text = std::string(5u << 20, 'x') + "end";
  EXPECT_EQ(ask(request).text, request.messages[0].text);
}

TEST(Command, ThatCannotBeRunIsNamedBeforehand) {
  const ScratchFolder folder;
  write_file(folder.path("agent"), "#!/bin/sh\n");
  const auto problem = [](const std::string& command) {
    const auto ready = check_ready({.provider = "command", .model = command});
    return ready ? "none" : ready.error().list[0].message;
  };
  EXPECT_EQ(problem(folder.path("agent") + " --x"), "'" + folder.path("agent") + "' is not an executable program");
  ASSERT_EQ(chmod(folder.path("agent").c_str(), 0755), 0);
  EXPECT_EQ(problem(folder.path("agent") + " --x"), "none");
  EXPECT_EQ(problem("nothing_of_that_name | cat"), "there is no program 'nothing_of_that_name' in PATH");
  EXPECT_EQ(problem("cat -"), "none");
  EXPECT_EQ(problem("A=1 cat"), "none");
}

TEST(Recorded, TheMostPreciseFileIsTheAnswer) {
  const ScratchFolder folder;
  fs::create_directories(folder.path("push_copy"));
  const auto text = [&] { return ask(request_to("recorded", folder.path())).text; };
  const Response missing = ask(request_to("recorded", folder.path()));
  EXPECT_EQ(missing.call.end, AnswerEnd::failed);
  EXPECT_TRUE(missing.call.error.starts_with("there is no recorded answer: " + folder.path("push_copy/2.3.md")))
      << missing.call.error;
  write_file(folder.path("push_copy.md"), "for all");
  EXPECT_EQ(text(), "for all");
  write_file(folder.path("push_copy/3.md"), "for the round");
  EXPECT_EQ(text(), "for the round");
  write_file(folder.path("push_copy/2.3.md"), "for sample and round");
  EXPECT_EQ(text(), "for sample and round");
  EXPECT_EQ(ask(request_to("recorded", folder.path())).call.end, AnswerEnd::complete);
  write_file(folder.path("push_copy/2.3.md"), "\n");
  EXPECT_EQ(ask(request_to("recorded", folder.path())).call.end, AnswerEnd::empty);
}

TEST(Recorded, TheCallMayStandBesideIt) {
  const ScratchFolder folder;
  write_file(folder.path("push_copy.md"), "half");
  write_file(folder.path("push_copy.json"),
             R"({"end": "truncated", "stop_reason": "length", "usage": {"output_tokens": 9}, "usd": 0.5})");
  const Response response = ask(request_to("recorded", folder.path()));
  EXPECT_EQ(response.text, "half");
  EXPECT_EQ(response.call.end, AnswerEnd::truncated);
  EXPECT_EQ(response.call.usage.output_tokens, 9u);
  EXPECT_EQ(response.call.usd, 0.5);
  EXPECT_EQ(response.call.tries, 1u);
  write_file(folder.path("push_copy.json"), R"({"end": "sideways"})");
  EXPECT_NE(ask(request_to("recorded", folder.path())).call.error.find("sideways"), std::string::npos);
}

TEST(Recorded, TheAnswersOfARunCanBeHadAgain) {
  const ScratchFolder folder;
  fs::create_directories(folder.path("push_copy/2"));
  Response before;
  before.text = "code";
  before.call = {.end = AnswerEnd::complete, .usd = 0.25, .tries = 2};
  before.response_body = "{}";
  write_file(folder.path("push_copy/2/3.response.json"), to_json(before));
  EXPECT_EQ(ask(request_to("recorded", folder.path())), before);
  write_file(folder.path("push_copy/2/3.response.json"), "{");
  const Response damaged = ask(request_to("recorded", folder.path()));
  EXPECT_EQ(damaged.call.end, AnswerEnd::failed);
  EXPECT_NE(damaged.call.error.find("3.response.json"), std::string::npos) << damaged.call.error;
}

TEST(Recorded, AFolderThatIsMissingIsNamedBeforehand) {
  const ScratchFolder folder;
  EXPECT_TRUE(check_ready({.provider = "recorded", .model = folder.path()}));
  const auto ready = check_ready({.provider = "recorded", .model = folder.path("none")});
  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().list[0].message, "there is no folder '" + folder.path("none") + "' with recorded answers");
  EXPECT_EQ(ask(request_to("recorded", folder.path("none"))).call.end, AnswerEnd::failed);
}

}  // namespace
}  // namespace fb::llm
