#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "campaign/prompts/prompt.h"
#include "judge/answer/answer.h"
#include "judge/catalog/pack.h"
#include "prompts/golden.h"

namespace fb::prompts {
namespace {

using record::Attempt;
using record::VerdictClass;

constexpr uint64_t kSeed = 5123570933822251862;

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

const catalog::Problem& problem(const std::string& name) {
  static std::map<std::string, catalog::Problem> loaded;
  if (!loaded.contains(name)) {
    auto pack = catalog::load_from_pack(std::string(FB_SOURCE_DIR) + "/problems", name);
    EXPECT_TRUE(pack) << message_of(pack);
    loaded[name] = std::move(pack->problems.front());
  }
  return loaded[name];
}

// 30 lines, of which 8 to 25 are code.
std::string sample_answer() {
  return "Each rank reads all inputs.\n\nThe blocks have a barrier before and after.\n\n```cuda\n#include "
         "\"args.h\"\n// "
         "[solution]\n"
         "__global__ void wait(unsigned* flag) {\n"
         "  while (atomicAdd(flag, 0) == 0) {\n"
         "  }\n"
         "}\n"
         "__global__ void sum(const float* in, float* out) {\n"
         "  out[threadIdx.x] = in[threadIdx.x];\n"
         "}\n"
         "class Solution {\n"
         " public:\n"
         "  Solution(const fabricbench::Rank& rank, const Args& args) {}\n"
         "  void run(const Args& args, Stream stream) {\n"
         "    wait<<<1, 1, 0, stream>>>(flag_);\n"
         "    sum<<<1, 1024, 0, stream>>>(args.in, args.out);\n"
         "  }\n"
         " private:\n"
         "  unsigned* flag_ = nullptr;\n"
         "};\n"
         "// [/solution]\n```\n\nThat is all.\n";
}

Attempt judged(VerdictClass verdict, std::string summary, std::string explanation,
               record::FailureLocation location = {}) {
  Attempt attempt;
  attempt.model = "atlas";
  attempt.problem = "all_reduce_one_shot";
  attempt.call.end = record::AnswerEnd::complete;
  auto& v = attempt.verdict.emplace();
  v.verdict = verdict;
  v.summary = std::move(summary);
  v.explanation = std::move(explanation);
  v.location = std::move(location);
  v.seed = kSeed;
  v.problem = attempt.problem;
  return attempt;
}

Attempt ended(record::AnswerEnd end) {
  Attempt attempt;
  attempt.problem = "all_reduce_one_shot";
  attempt.call.end = end;
  return attempt;
}

std::string feedback(const Attempt& attempt, const std::string& answer = sample_answer(), const Options& options = {}) {
  auto text = feedback_prompt(problem("all_reduce_one_shot"), attempt, answer, options, false);
  EXPECT_TRUE(text) << message_of(text);
  return text.value_or("");
}

Attempt deadlock(int ranks) {
  const std::string summary =
      "never signalled: rank 0, device 0, kernel wait(unsigned int*), block 0, warp 0 needs other than 0 and sees 0 at "
      "answer.md:9; no write to it was made.";
  std::string text = summary + "\nLook at: which agent should write this value, in which call, and why it did not.\n";
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string number = std::to_string(rank), owner = "rank " + number + ", device " + number;
    text += "\n" + owner +
            ": kernel wait(unsigned int*), launch 1; blocks: 1 resident, 0 finished\n"
            "  block 0, warp 0, lanes 0x00000001, at answer.md:9 [PTX line 27: atom.global.add.u32 %r1, [%rd2], 0;]\n"
            "    sees 0 in 4 bytes at 0x1000000800: byte 0 of cudaMalloc #3 of " +
            owner +
            " (64 bytes); needs other than 0\n"
            "    never written\n    no remaining writer\n";
  }
  return judged(VerdictClass::deadlock, summary, text, {.size = "one", .world = 4, .call = 0});
}

TEST(FeedbackPrompt, IsAsApprovedForEveryClass) {
  const auto expect = [](const std::string& name, const Attempt& attempt, const std::string& answer = sample_answer()) {
    expect_golden("feedback_" + name + ".md", feedback(attempt, answer));
  };
  expect("compile_error",
         judged(VerdictClass::compile_error, "answer.md:18:30: unknown type name 'Stream'",
                "answer.md:18:30: unknown type name 'Stream'\nentry.cu:2:1: too few arguments to function call\n"
                "/opt/fabricbench/share/sdk/include/fabricbench/entry.h:33:89: note: expanded from macro "
                "'FABRICBENCH_ENTRY'\ntemplate.cu:17:1: note: in this file\n"));
  expect("rule_violation",
         judged(VerdictClass::rule_violation, "run() made 12 requests of kind `exchange`, which this problem forbids",
                "run() made 12 requests of kind `exchange`, which this problem forbids.\n",
                {.size = "one", .world = 4, .rank = 0, .call = 0}));
  Attempt wrong =
      judged(VerdictClass::wrong, "out[0] on rank 2 is 0, expected -22.3879871 (±6.92e-06)",
             "out[0] on rank 2 is 0, expected -22.3879871 (±6.92e-06).\n1023 of 1023 elements of `out` on rank "
             "2 are wrong, from [0] to [1022].\nLook at: which rank's data goes where.\n",
             {.size = "odd", .world = 4, .rank = 2, .call = 1, .schedule = 1234567890123});
  wrong.verdict->notes = {"text outside the regions was not used: the judge has its own"};
  expect("wrong", wrong);
  expect("race", judged(VerdictClass::race, "a race", "a race at answer.md:13\n", {.size = "one", .world = 2}));
  expect(
      "uninitialised",
      judged(VerdictClass::uninitialised, "a read of memory that nothing has written, at answer.md:13",
             "a read of memory that nothing has written, at answer.md:13\n", {.size = "one", .world = 2, .rank = 1}));
  expect("deadlock", deadlock(4));
  expect("fault",
         judged(VerdictClass::fault,
                "rank 0, device 0: out_of_bounds: 4 bytes at 0x1400000400: 4 bytes past the end of tensor #2",
                "rank 0, device 0: out_of_bounds: 4 bytes at 0x1400000400: 4 bytes past the end of tensor #2 (4 "
                "bytes at 0x1000000400)\n  in sum(float const*, float*) at answer.md:13 [PTX line 28: "
                "st.global.u32 [%rd3], %r1;]\n  block (0,0,0) thread (1,0,0)\n",
                {.size = "one", .world = 1, .rank = 0, .call = 0}));
  expect("budget", judged(VerdictClass::budget, "time was up in run", "time was up in run.\nLook at: host code.\n",
                          {.size = "one", .world = 4}));
  expect("cheat",
         judged(VerdictClass::cheat, "size 1MiB: 1.00 us are less than the links need (2.80 us)",
                "The data that must cross the links can't cross them in this time.\n", {.size = "1MiB", .world = 8}));
  expect("unsupported", judged(VerdictClass::unsupported, "wgmma.fence.sync.aligned is not supported",
                               "answer.md:13: wgmma.fence.sync.aligned is not supported\n"));
  expect("infra", judged(VerdictClass::infra, "a session was lost", "The process of a session ended.\n"));
  expect("truncated", ended(record::AnswerEnd::truncated));
  expect("refused", ended(record::AnswerEnd::refused));
  expect("empty", ended(record::AnswerEnd::empty));
  expect("failed", ended(record::AnswerEnd::failed));
}

// A class, or an end of an answer, without its file would end the campaigns of all models that make this mistake. The
// golden files say more, and are one for each, too.
TEST(FeedbackPrompt, IsThereForEveryOutcome) {
  std::set<std::string> seen;
  for (const VerdictClass verdict : record::kVerdictClasses) {
    if (verdict == VerdictClass::pass) continue;
    const std::string name(to_string(verdict));
    const Attempt attempt = judged(verdict, "what the judge saw", "what the judge saw\n");
    const auto text = feedback_prompt(problem("all_reduce_one_shot"), attempt, sample_answer(), {}, false);
    ASSERT_TRUE(text) << name << ": " << message_of(text);
    EXPECT_TRUE(has(*text, "verdict: `" + name + "`")) << *text;
    EXPECT_TRUE(has(*text, "what the judge saw")) << *text;
    const std::string advice = text->substr(text->find("what the judge saw"));
    EXPECT_GT(advice.size(), 200u) << name;
    EXPECT_TRUE(seen.insert(advice).second) << name << " has the advice of another class";
    EXPECT_TRUE(
        std::filesystem::exists(std::string(FB_SOURCE_DIR) + "/tests/unit/prompts/golden/feedback_" + name + ".md"))
        << name;
  }
  for (const record::AnswerEnd end : record::kAnswerEnds) {
    if (end == record::AnswerEnd::complete) continue;
    const std::string name(to_string(end));
    const auto text = feedback_prompt(problem("all_reduce_one_shot"), ended(end), sample_answer(), {}, false);
    ASSERT_TRUE(text) << name << ": " << message_of(text);
    EXPECT_TRUE(seen.insert(*text).second) << name << " has the advice of another end";
    EXPECT_TRUE(
        std::filesystem::exists(std::string(FB_SOURCE_DIR) + "/tests/unit/prompts/golden/feedback_" + name + ".md"))
        << name;
  }
}

// With the messages that the judge really has for such answers.
Attempt as_judged(const std::string& answer) {
  const auto read = judge::read_answer(problem("all_reduce_one_shot"), answer);
  EXPECT_FALSE(read) << answer;
  std::string text;
  for (const auto& [at, message] : read.error().list) {
    if (at.line > 0) text += std::to_string(at.line) + ":" + std::to_string(at.column) + ": ";
    text += message + "\n";
  }
  return judged(VerdictClass::compile_error, text.substr(0, text.find('\n')), text);
}

TEST(FeedbackPrompt, TellsAnswersWithoutCodeFromCodeThatDoesNotCompile) {
  constexpr std::string_view kNoCode = "The judge found no solution in your answer.";
  const std::string prose = "I would write a kernel that reads all peers.\n";
  expect_golden("feedback_not_code.md", feedback(as_judged(prose), prose));
  const std::array<std::string, 5> answers = {
      prose, "```cuda\n// [solution]\nclass Solution {};\n```\n", "// [solution]\n// [/solution]\n",
      "// [solution: other]\nint x;\n// [/solution]\n",
      "```\nclass Solution {};\n```\nor\n```\nclass Solution { int x; };\n```\n"};
  for (const std::string& answer : answers) EXPECT_TRUE(has(feedback(as_judged(answer), answer), kNoCode)) << answer;
  for (const char* text : {"answer.md:3:5: expected ';'", "ld.lld: error: undefined symbol: ncclAllReduce",
                           "the compiler took longer than 20 s"}) {
    EXPECT_FALSE(has(feedback(judged(VerdictClass::compile_error, text, std::string(text) + "\n")), kNoCode)) << text;
  }
}

TEST(FeedbackPrompt, QuotesTheLinesThatTheJudgeSpeaksOf) {
  const std::string text = feedback(deadlock(4));
  EXPECT_TRUE(
      has(text,
          "your answer:\n     7 | // [solution]\n     8 | __global__ void wait(unsigned* flag) {\n>    9 |   while "));
  EXPECT_EQ(text.find("your answer:"), text.rfind("your answer:"));  // once
}

TEST(FeedbackPrompt, QuotesDriverAndTemplateToo) {
  Attempt attempt = judged(VerdictClass::compile_error, "driver.cu:90:3: no member named 'barrier'",
                           "driver.cu:90:3: no member named 'barrier'\ntemplate.cu:2:1: note\nanswer.md:1:1: note\n");
  const auto text = feedback_prompt(problem("device_barrier"), attempt, "int x;\n", {}, false);
  ASSERT_TRUE(text) << message_of(text);
  EXPECT_TRUE(has(*text, "\ndriver.cu:\n")) << *text;
  EXPECT_TRUE(has(*text, "\ntemplate.cu:\n")) << *text;
  EXPECT_TRUE(has(*text, "\nyour answer:\n>    1 | int x;\n")) << *text;
}

TEST(FeedbackPrompt, TellsNoSeedAndNoPlaceOnTheComputer) {
  Attempt attempt = judged(VerdictClass::fault, "a fault", "a fault\nat /usr/lib/llvm-19/include/c++/v1/vector:3\n",
                           {.size = "one", .world = 4, .rank = 1, .call = 2, .schedule = 77777});
  const std::string text = feedback(attempt);
  EXPECT_FALSE(has(text, std::to_string(kSeed)));
  EXPECT_FALSE(has(text, "77777"));
  EXPECT_FALSE(has(text, "/usr"));
  EXPECT_TRUE(has(text, "at c++/v1/vector:3\n"));
  EXPECT_TRUE(has(text, "4 ranks, size one, call 3, rank 1, events in an order drawn at random")) << text;
}

TEST(FeedbackPrompt, IsNeverLongerThanAllowedAndCutsNoLine) {
  const Attempt attempt = deadlock(72);
  const std::string whole = feedback(attempt, sample_answer(), {.feedback_limit = 1 << 20});
  ASSERT_GT(whole.size(), 20000u);
  size_t smallest = 0;
  for (size_t limit = 200; limit < 9000; limit += 37) {
    const auto text =
        feedback_prompt(problem("all_reduce_one_shot"), attempt, sample_answer(), {.feedback_limit = limit}, false);
    if (!text) {
      EXPECT_TRUE(has(message_of(text), "the limit of feedback is")) << message_of(text);
      smallest = limit;
      continue;
    }
    ASSERT_LE(text->size(), limit);
    EXPECT_EQ(has(*text, "more lines were left out"), has(*text, "```")) << *text;
    EXPECT_TRUE(has(*text, "All threads wait, and nothing can wake them.")) << *text;
    for (const auto line : split(*text, '\n')) {
      EXPECT_TRUE(has(whole, line) || line.ends_with("left out)")) << line;
    }
  }
  EXPECT_LT(smallest, 1000u);
}

TEST(FeedbackPrompt, HoldsOutAgainstOddTexts) {
  // No line has room; fences in the text; no text at all.
  Attempt attempt = judged(VerdictClass::fault, std::string(50000, '`'), std::string(50000, '`'));
  EXPECT_LE(feedback(attempt).size(), 6000u);
  attempt = judged(VerdictClass::fault, "x", "rank 0 wrote:\n" + std::string(3000, '`') + "\nanswer.md:5\n");
  EXPECT_LE(feedback(attempt).size(), 6000u);
  attempt = judged(VerdictClass::fault, "", "");
  EXPECT_TRUE(has(feedback(attempt, ""), "The code crashed."));
  attempt = judged(VerdictClass::fault, "\xff", "\xff answer.md:1 {{name}}\n");
  EXPECT_TRUE(has(feedback(attempt, "\xfe\n"), "? answer.md:1 {{name}}"));
}

TEST(FeedbackPrompt, AsksForSpeedAfterAPass) {
  Attempt attempt = judged(VerdictClass::pass, "pass", "");
  attempt.verdict->speed = 0.57;
  attempt.verdict->timings = {
      {.size = "64KiB", .world = 8, .seconds = 15.04e-6, .reference_seconds = 10.45e-6, .limit_seconds = 0.18e-6},
      {.size = "1MiB", .world = 8, .seconds = 22.81e-6, .reference_seconds = 0, .limit_seconds = 0}};
  const auto text = feedback_prompt(problem("all_reduce_one_shot"), attempt, sample_answer(), {}, true);
  ASSERT_TRUE(text) << message_of(text);
  expect_golden("speed.md", *text);
  attempt.verdict->timings[1].bound = "bound by launches and host calls";
  const auto bound = feedback_prompt(problem("all_reduce_one_shot"), attempt, sample_answer(), {}, true);
  ASSERT_TRUE(bound) << message_of(bound);
  EXPECT_TRUE(has(*bound, "|\n\n- 1MiB: bound by launches and host calls.\n\nThe limit is ")) << *bound;
  attempt.verdict->speed.reset();
  attempt.verdict->timings.clear();
  const auto blind = feedback_prompt(problem("all_reduce_one_shot"), attempt, sample_answer(), {}, true);
  ASSERT_TRUE(blind) << message_of(blind);
  expect_golden("speed_without_times.md", *blind);
}

TEST(FeedbackPrompt, NamesTheLinesThatCostMost) {
  Attempt attempt = judged(VerdictClass::pass, "", "");
  record::Timing timing;
  timing.size = "64KiB";
  timing.world = 8;
  timing.seconds = 2e-5;
  attempt.verdict->timings = {timing};
  attempt.verdict->speed = 0.5;
  record::KernelProfile kernel;
  kernel.kernel = "sum(float const*, float*)";
  kernel.critical = {{"solution.cu", 13, "link", 700},     {"solution.cu", 13, "issue", 50},
                     {"solution.cu", 9, "flag wait", 200}, {"", 0, "start", 30},
                     {"solution.cu", 12, "issue", 15},     {"solution.cu", 20, "issue", 5}};
  attempt.verdict->profile.kernels = {kernel};
  const auto text = feedback_prompt(problem("all_reduce_one_shot"), attempt, sample_answer(), {}, true);
  ASSERT_TRUE(text) << message_of(text);
  EXPECT_TRUE(has(*text, "- line 13: 75 % of the time, most of it link (accesses to peers")) << *text;
  EXPECT_TRUE(has(*text, "- line 9: 20 % of the time, most of it flag wait")) << *text;
  EXPECT_TRUE(has(*text, "- line 12: ")) << *text;
  EXPECT_FALSE(has(*text, "- line 20: ")) << "three lines";
}

TEST(FeedbackPrompt, SaysNothingOfLinesThatAreNotTheAnswers) {
  Attempt attempt = judged(VerdictClass::pass, "", "");
  attempt.verdict->speed = 0.5;
  record::KernelProfile kernel;
  kernel.kernel = "fill(int*)";
  kernel.critical = {{"driver.cu", 131, "L2", 700}, {"fabricbench/rank.h", 9, "issue", 50}};
  attempt.verdict->profile.kernels = {kernel};
  const auto text = feedback_prompt(problem("all_reduce_one_shot"), attempt, sample_answer(), {}, true);
  ASSERT_TRUE(text) << message_of(text);
  EXPECT_FALSE(has(*text, "line 131")) << *text;
  EXPECT_FALSE(has(*text, "Where the time")) << *text;
}

TEST(FeedbackPrompt, HasNothingToSayAboutAPassOtherwise) {
  const auto text =
      feedback_prompt(problem("all_reduce_one_shot"), judged(VerdictClass::pass, "pass", ""), "", {}, false);
  ASSERT_FALSE(text);
  EXPECT_TRUE(has(message_of(text), "the attempt passed"));
}

TEST(FeedbackPrompt, ExplainsAFailureAlsoInARoundForSpeed) {
  const auto text = feedback_prompt(problem("all_reduce_one_shot"), deadlock(2), sample_answer(), {}, true);
  ASSERT_TRUE(text) << message_of(text);
  EXPECT_TRUE(has(*text, "`deadlock`"));
}

}  // namespace
}  // namespace fb::prompts
