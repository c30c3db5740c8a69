#include "campaign/prompts/quoted_lines.h"

#include <gtest/gtest.h>

namespace fb::prompts {
namespace {

using Mentions = std::vector<Mention>;

TEST(PromptMentions, AreFoundInWhatCompilersAndTheMachineSay) {
  EXPECT_EQ(mentions_in("answer.md:19:30: unknown type name 'Stream'\nanswer.md:19:54: expected ';'\n"),
            (Mentions{{"answer.md", 19}}));
  EXPECT_EQ(mentions_in("  in wait(unsigned int*) at answer.md:17 [PTX line 27: ld.acquire.sys.b32 %r1, [%rd2];]"),
            (Mentions{{"answer.md", 17}}));
  EXPECT_EQ(mentions_in("/opt/sdk/include/fabricbench/entry.h:33:89: note: expanded\nwrong.cu:62:8: note: 'run'"),
            (Mentions{{"entry.h", 33}, {"wrong.cu", 62}}));
  EXPECT_EQ(mentions_in("see a.cu:5."), (Mentions{{"a.cu", 5}}));
}

TEST(PromptMentions, MayNameNoFile) {
  EXPECT_EQ(mentions_in("7:1: the region that begins here is not closed\n"), (Mentions{{"", 7}}));
}

TEST(PromptMentions, AreNotSeenWhereThereAreNone) {
  EXPECT_EQ(mentions_in("rank 0, device 0: 12:30 o'clock, 0x10:4, v1.2:3, a.cu:, a.cu:0, a.cu:12x, 3 of 4: 5"),
            Mentions{});
  EXPECT_EQ(mentions_in("12: 3 apples"), Mentions{});
  EXPECT_EQ(mentions_in("a.cu:99999999999"), Mentions{});
}

TEST(PromptQuote, ShowsLinesAroundThoseThatAreNamed) {
  std::string source;
  for (int k = 1; k <= 20; ++k) source += "line " + std::to_string(k) + "\n";
  EXPECT_EQ(quote_lines(source, {1, 10, 11}),
            ">    1 | line 1\n"
            "     2 | line 2\n"
            "     3 | line 3\n"
            "       ...\n"
            "     8 | line 8\n"
            "     9 | line 9\n"
            ">   10 | line 10\n"
            ">   11 | line 11\n"
            "    12 | line 12\n"
            "    13 | line 13\n");
}

TEST(PromptQuote, LeavesOutWhatTheSourceDoesNotHave) {
  EXPECT_EQ(quote_lines("one\ntwo\n", {9}), "");
  EXPECT_EQ(quote_lines("one\ntwo\n", {9, 2}), "     1 | one\n>    2 | two\n");
  EXPECT_EQ(quote_lines("", {1}), "");
}

TEST(PromptQuote, DoesNotRepeatEndlessLines) {
  EXPECT_EQ(quote_lines(std::string(100000, 'x'), {1}), ">    1 | (a line of 100000 bytes)\n");
}

}  // namespace
}  // namespace fb::prompts
