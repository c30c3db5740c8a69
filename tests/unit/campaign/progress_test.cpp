#include "campaign/progress.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>

namespace fb::campaign {
namespace {

using namespace std::chrono_literals;

// What a view has written.
std::string written(const std::function<void(std::FILE*)>& write) {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* out = open_memstream(&text, &size);
  write(out);
  std::fclose(out);
  std::string copy(text, size);
  std::free(text);
  return copy;
}

record::Attempt passing() {
  record::Attempt a;
  a.model = "atlas";
  a.problem = "push_copy";
  a.call.end = record::AnswerEnd::complete;
  a.call.usd = 0.0123;
  a.verdict = record::Verdict{};
  a.verdict->verdict = record::VerdictClass::pass;
  a.verdict->speed = 0.974;
  return a;
}

TEST(Headline, TellsWhatIsDoneAndWhatIsLeft) {
  Status s;
  s.samples = 72;
  s.done = 12;
  s.passed = 9;
  s.usd = 1.234;
  s.elapsed = 60s;
  EXPECT_EQ(headline(s), "12 of 72 samples done, 9 passed, $1.23, 1 min, about 5 min to go");
  s.stuck = 60;
  EXPECT_EQ(headline(s), "12 of 72 samples done, 9 passed, 60 left for another time, $1.23, 1 min");
}

TEST(Headline, GoesByThisLifeAlone) {
  Status s;
  s.samples = 100;
  s.done = 51;
  s.done_before = 50;
  s.elapsed = 10s;
  EXPECT_EQ(headline(s), "51 of 100 samples done, 0 passed, $0.00, 10 s, about 8 min to go");
  s.done = 50;
  EXPECT_EQ(headline(s), "50 of 100 samples done, 0 passed, $0.00, 10 s");
}

TEST(PlainProgress, HasALineForEachAttempt) {
  Status s;
  s.samples = 3;
  s.done = 1;
  const std::string text = written([&](std::FILE* out) {
    const auto progress = plain_progress(out);
    progress->attempted(passing(), s);
    progress->looked(s);
  });
  EXPECT_EQ(text, "[1/3] atlas push_copy sample 1 round 1: pass 0.97x $0.0123\n");
}

TEST(LiveProgress, IsRedrawnAndNeverWiderThanTheTerminal) {
  Status s;
  s.samples = 4;
  s.done = 1;
  s.now = {"judging 3 s: a_model_with_a_long_name and_a_problem_with_a_long_name sample 1 round 1"};
  const std::string text = written([&](std::FILE* out) {
    const auto progress = live_progress(out, 40);
    progress->began(s);
    progress->attempted(passing(), s);
    progress->ended(s);
  });
  // Three lines were drawn twice and taken back twice; what is left is the attempt and the headline.
  EXPECT_NE(text.find("\x1b[3A\r\x1b[J"), std::string::npos);
  EXPECT_NE(text.find("[#########............................]\n"), std::string::npos) << text;
  size_t begin = 0;
  for (size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string line = text.substr(begin, end - begin);
    if (line.find("judging") != std::string::npos) {
      EXPECT_LE(line.size(), 39u) << line;
    }
  }
}

}  // namespace
}  // namespace fb::campaign
