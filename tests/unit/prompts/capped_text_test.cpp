#include "campaign/prompts/capped_text.h"

#include <gtest/gtest.h>

namespace fb::prompts {
namespace {

TEST(PromptCap, KeepsWhatHasRoom) {
  EXPECT_EQ(cap_lines("one\ntwo\n", 8), "one\ntwo\n");
  EXPECT_EQ(cap_lines("", 0), "");
}

TEST(PromptCap, LeavesOutWholeLinesAndSaysHowMany) {
  std::string text;
  for (int k = 0; k < 100; ++k) text += "line " + std::to_string(k) + "\n";
  EXPECT_EQ(cap_lines(text, 50), "line 0\nline 1\n(98 more lines were left out)\n");
  EXPECT_EQ(cap_lines("a\n" + std::string(100, 'x') + "\n", 40), "a\n(1 more line was left out)\n");
}

TEST(PromptCap, IsNeverLongerThanAllowed) {
  std::string text;
  for (int k = 0; k < 40; ++k) text += std::string(static_cast<size_t>(k) * 7 % 31, 'x') + "\n";
  for (size_t most = 0; most < text.size() + 3; ++most) {
    const std::string capped = cap_lines(text, most);
    EXPECT_LE(capped.size(), most);
    EXPECT_TRUE(capped.empty() || capped.ends_with('\n'));
    // All lines but the note are lines of the text, from its beginning.
    const size_t note = capped.find('(');
    EXPECT_TRUE(text.starts_with(capped.substr(0, note))) << most;
  }
}

TEST(PromptCap, GivesEveryPartAShare) {
  const std::string line = std::string(99, 'x') + "\n";
  std::string text = "short\n\n";
  for (const char* name : {"rank 0\n", "rank 1\n"}) {
    text += name;
    for (int k = 0; k < 20; ++k) text += line;
    text += "\n";
  }
  const std::string capped = cap_parts(text, 960);
  EXPECT_EQ(capped, "short\n\nrank 0\n" + line + line + line + line + "(17 more lines were left out)\nrank 1\n" + line +
                        line + line + line + "(17 more lines were left out)\n");
  EXPECT_EQ(cap_parts(text, text.size()), text);
  // Shares that are not worth reading: from the beginning.
  EXPECT_EQ(cap_parts(text, 500), cap_lines(text, 500));
  for (size_t most = 0; most < text.size(); most += 7) EXPECT_LE(cap_parts(text, most).size(), most);
}

TEST(PromptFence, IsLongerThanAnyInTheText) {
  EXPECT_EQ(fenced("int x;\n", "cuda"), "```cuda\nint x;\n```");
  EXPECT_EQ(fenced("no end", ""), "```\nno end\n```");
  EXPECT_EQ(fenced("```\nblock\n````\n", "text"), "`````text\n```\nblock\n````\n`````");
}

TEST(PromptText, HoldsNothingThatIsNoText) {
  EXPECT_EQ(printable("a\tb\r\nc\x01\x7f"), "a\tb\nc??");
  EXPECT_EQ(printable("±µs – 漢 😀"), "±µs – 漢 😀");
  EXPECT_EQ(printable("\xff\xc3x\xe2\x82"), "??x??");
  EXPECT_EQ(printable("\xed\xa0\x80"), "???");                 // a surrogate
  EXPECT_EQ(printable("\xc0\xaf\xf4\x90\x80\x80"), "??????");  // too long, too large
}

}  // namespace
}  // namespace fb::prompts
