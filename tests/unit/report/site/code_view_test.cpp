#include "campaign/report/site/code_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "campaign/report/site/line_diff.h"
#include "common/base/rng.h"

namespace fb::report::site {
namespace {

std::vector<std::string_view> lines(std::string_view letters) {
  std::vector<std::string_view> out;
  for (size_t i = 0; i < letters.size(); ++i) out.push_back(letters.substr(i, 1));
  return out;
}

// The diff as text: " a" the same, "-a" removed, "+a" added.
std::string diff_text(std::string_view before, std::string_view after) {
  std::string out;
  for (const auto& [kind, old_line, new_line] : diff_lines(lines(before), lines(after))) {
    out += kind == DiffLine::Kind::same ? ' ' : kind == DiffLine::Kind::added ? '+' : '-';
    out += kind == DiffLine::Kind::added ? after[new_line - 1] : before[old_line - 1];
  }
  return out;
}

TEST(SiteDiff, FindsTheShortestWay) {
  EXPECT_EQ(diff_text("abc", "abc"), " a b c");
  EXPECT_EQ(diff_text("", "ab"), "+a+b");
  EXPECT_EQ(diff_text("ab", ""), "-a-b");
  EXPECT_EQ(diff_text("abc", "axc"), " a-b+x c");
  EXPECT_EQ(diff_text("abcd", "acd"), " a-b c d");
  const std::string known = diff_text("abcabba", "cbabac");  // Myers' own example: five changes
  EXPECT_EQ(std::ranges::count_if(known, [](char c) { return c == '+' || c == '-'; }), 5) << known;
}

TEST(SiteDiff, RandomTextsComeOutWhole) {
  Rng rng(7);
  for (int round = 0; round < 2000; ++round) {
    std::string before, after;
    for (uint64_t i = rng.below(12); i > 0; --i) before += static_cast<char>('a' + rng.below(3));
    for (uint64_t i = rng.below(12); i > 0; --i) after += static_cast<char>('a' + rng.below(3));
    std::string old_side, new_side;
    const std::string diff = diff_text(before, after);
    for (size_t i = 0; i < diff.size(); i += 2) {
      if (diff[i] != '+') old_side += diff[i + 1];
      if (diff[i] != '-') new_side += diff[i + 1];
    }
    EXPECT_EQ(old_side, before);
    EXPECT_EQ(new_side, after);
  }
}

TEST(SiteDiff, TextsThatHaveNothingInCommonAreReplacedAsAWhole) {
  std::vector<std::string> kept;
  std::vector<std::string_view> before, after;
  for (int i = 0; i < 12000; ++i) kept.push_back(std::to_string(i));
  for (int i = 0; i < 6000; ++i) before.emplace_back(kept[static_cast<size_t>(i)]);
  for (int i = 6000; i < 12000; ++i) after.emplace_back(kept[static_cast<size_t>(i)]);
  const auto diff = diff_lines(before, after);
  ASSERT_EQ(diff.size(), 12000u);
  EXPECT_EQ(diff.front().kind, DiffLine::Kind::removed);
  EXPECT_EQ(diff.back().kind, DiffLine::Kind::added);
}

TEST(SiteCode, FindsTheLinesOfTheAnswerThatAVerdictNames) {
  const auto notes = mentioned_lines(
      "solution.cu:19:30: unknown type name 'Stream'\n"
      "    in wait(unsigned int*) at answer.md:17 [PTX line 27: ld.acquire.sys.b32 %r1, [%rd2];]\n"
      "    in wait(unsigned int*) at answer.md:17 [PTX line 33: ld.acquire.sys.b32 %r9, [%rd2];]\n"
      "template.cu:3:1: not the answer's\nentry.cu:4: nor this\ndriver.cu:5: nor this\n"
      "/usr/include/math.h:12:1: nor this\nat 12:30 o'clock\n");
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(notes.at(19), std::vector<std::string>{"unknown type name 'Stream'"});
  EXPECT_EQ(notes.at(17), std::vector<std::string>{"in wait(unsigned int*) at answer.md:17"});
}

TEST(SiteCode, MarksTheLinesAndSaysWhy) {
  const std::string text = code_view("int a;\nStream b;\n", 18, {{19, {"unknown type <Stream>"}}}).str();
  EXPECT_NE(text.find("<span class=\"l\" id=\"L18\">"), std::string::npos);
  EXPECT_NE(text.find("<span class=\"l hit\" id=\"L19\">"), std::string::npos);
  EXPECT_NE(text.find("<span class=\"said\">unknown type &lt;Stream&gt;</span>"), std::string::npos);
}

TEST(SiteCode, LinksPlacesInTheExplanation) {
  EXPECT_EQ(linked_text("see solution.cu:19:30: <b>", {{19, {}}}).str(),
            "see <a href=\"#L19\">solution.cu:19</a>:30: &lt;b&gt;");
  EXPECT_EQ(linked_text("template.cu:19", {{19, {}}}).str(), "template.cu:19");
}

TEST(SiteCode, ShowsChangesWithTheLinesOfBothAnswers) {
  std::string before, after;
  for (int i = 0; i < 20; ++i) before += "line" + std::to_string(i) + "\n";
  after = before;
  after.replace(after.find("line10"), 6, "other<b>");
  const std::string text = diff_view(before, 5, after, 9).str();
  EXPECT_NE(text.find("<span class=\"l del\"><i data-n=\"15\" data-s=\"\u2212\"></i><span>line10\n"),
            std::string::npos);
  EXPECT_NE(text.find("<span class=\"l add\"><i data-n=\"19\" data-s=\"+\"></i><span>other&lt;b&gt;\n"),
            std::string::npos);
  EXPECT_NE(text.find("7 unchanged lines"), std::string::npos);
  EXPECT_NE(text.find("6 unchanged lines"), std::string::npos);
  EXPECT_NE(diff_view("a\n", 1, "a\n", 7).str().find("The code is the same."), std::string::npos);
}

}  // namespace
}  // namespace fb::report::site
