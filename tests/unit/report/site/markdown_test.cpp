#include "report/site/markdown.h"

#include <gtest/gtest.h>

#include <chrono>

#include "report/site/answer_parts.h"

namespace fb::report::site {
namespace {

std::string rendered(std::string_view text) { return render_markdown(text).str(); }

TEST(SiteMarkdown, RendersWhatStatementsUse) {
  EXPECT_EQ(rendered("# Title\n\nSome *text* with `code`,\nand **more**.\n"),
            "<h3>Title</h3>\n<p>Some <em>text</em> with <code>code</code>,\nand <strong>more</strong>.</p>\n");
  EXPECT_EQ(rendered("- one\n  goes on\n- two\n"), "<ul>\n<li>one\ngoes on</li>\n<li>two</li>\n</ul>\n");
  EXPECT_EQ(rendered("1. one\n2. two\n\nEnd\n"), "<ol>\n<li>one</li>\n<li>two</li>\n</ol>\n<p>End</p>\n");
  EXPECT_EQ(rendered("> said\n\n---\n"), "<blockquote><p>said</p>\n</blockquote>\n<hr>\n");
}

TEST(SiteMarkdown, RendersListsInLists) {
  EXPECT_EQ(rendered("- one\n  - inner\n- two\n"),
            "<ul>\n<li><p>one</p>\n<ul>\n<li>inner</li>\n</ul>\n</li>\n<li>two</li>\n</ul>\n");
}

TEST(SiteMarkdown, RendersTables) {
  EXPECT_EQ(rendered("| a | b |\n|---|---|\n| 1 | `x` |\n"),
            "<div class=\"scroll\"><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody>\n"
            "<tr><td>1</td><td><code>x</code></td></tr>\n</tbody></table></div>\n");
}

TEST(SiteMarkdown, HighlightsFencedCode) {
  const std::string text = rendered("Look:\n\n```cuda\nint a;\n```\n");
  EXPECT_NE(text.find("<pre class=\"code plain\""), std::string::npos);
  EXPECT_NE(text.find("<span class=\"t\">int</span> a;"), std::string::npos);
}

TEST(SiteMarkdown, NothingThatIsWrittenBecomesMarkup) {
  for (const std::string_view text :
       {"<script>alert(1)</script>", "# <img src=x onerror=alert(1)>", "`</code><script>`", "**<b>**", "- <i>\n",
        "| <a> |\n|---|\n| <b> |\n", "> <script>", "```<script>\n</pre><script>\n```", "[<b>](javascript:alert(1))"}) {
    const std::string out = rendered(text);
    for (const std::string_view bad : {"<script", "<img", "<b>", "<i>", "<a", "href"})
      EXPECT_EQ(out.find(bad), std::string::npos) << text << " → " << out;
  }
}

TEST(SiteMarkdown, LinksAreTextAndAddress) {
  EXPECT_EQ(rendered("see [the manual](https://example.com/a)"),
            "<p>see the manual <small>(https://example.com/a)</small></p>\n");
  EXPECT_EQ(rendered("in[0] and out[i](x"), "<p>in[0] and out[i](x</p>\n");
}

TEST(SiteMarkdown, LeavesMarksAloneThatMarkNothing) {
  EXPECT_EQ(rendered("2 * 3 * 4, a_b_c, 5 ** 2, `open"), "<p>2 * 3 * 4, a_b_c, 5 ** 2, `open</p>\n");
  EXPECT_EQ(rendered("\\*plain\\*"), "<p>*plain*</p>\n");
}

// An answer can be a megabyte of marks that never close.
TEST(SiteMarkdown, HostileTextTakesNoLongerThanItsLength) {
  const auto begin = std::chrono::steady_clock::now();
  for (const std::string_view unit : {"**a ", "*a _b ", "`", "[", "> ", "- ", "|", "[a](", "1. x\n ", "  - a\n"}) {
    std::string text;
    while (text.size() < 300'000) text += unit;
    EXPECT_FALSE(rendered(text + "\nend").empty());
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST(SiteAnswer, IsTakenApartWithTheLinesOfTheWhole) {
  const auto parts = split_answer("Hello\n\n```cuda\nint a;\n```\nBye\n~~~~\nraw ```\n~~~~\n");
  ASSERT_EQ(parts.size(), 4u);
  EXPECT_FALSE(parts[0].is_code);
  EXPECT_TRUE(parts[1].is_code);
  EXPECT_EQ(parts[1].language, "cuda");
  EXPECT_EQ(parts[1].text, "int a;\n");
  EXPECT_EQ(parts[1].first_line, 4u);
  EXPECT_EQ(parts[2].text, "Bye\n");
  EXPECT_EQ(parts[2].first_line, 6u);
  EXPECT_EQ(parts[3].text, "raw ```\n");
}

TEST(SiteAnswer, AFenceThatIsNeverClosedReachesToTheEnd) {
  const auto parts = split_answer("```\nclass Solution {\n");
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_TRUE(parts[0].is_code);
  EXPECT_EQ(parts[0].text, "class Solution {\n");
}

TEST(SiteAnswer, CodeWithoutFencesIsCode) {
  EXPECT_TRUE(split_answer("#include <cuda_runtime.h>\nclass Solution {};\n").at(0).is_code);
  EXPECT_FALSE(split_answer("I would write a class Solution.\n").at(0).is_code);
  EXPECT_TRUE(split_answer(" \n\n").empty());
}

TEST(SiteAnswer, TheJudgedBlockIsTheLastWithMarkersOrElseWithTheClass) {
  const std::string marked = "```\n// [solution]\nclass Solution {};\n// [/solution]\n```\n";
  const std::string plain = "```\nclass Solution { int longer_than_the_other_one; };\n```\n",
                    other = "```\nls -l\n```\n";
  EXPECT_EQ(judged_part(split_answer(marked + "text\n" + plain)), 0);
  EXPECT_EQ(judged_part(split_answer(marked + "text\n" + marked)), 2);
  EXPECT_EQ(judged_part(split_answer(other + "text\n" + plain)), 2);
  EXPECT_EQ(judged_part(split_answer("only prose\n")), -1);
}

}  // namespace
}  // namespace fb::report::site
