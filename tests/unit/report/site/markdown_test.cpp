#include "campaign/report/site/markdown.h"

#include <gtest/gtest.h>

#include <string>

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
            "<ul>\n<li>one<ul>\n<li>inner</li>\n</ul>\n</li>\n<li>two</li>\n</ul>\n");
  EXPECT_EQ(rendered("- one\n\n  more\n"), "<ul>\n<li><p>one</p>\n<p>more</p>\n</li>\n</ul>\n");
  EXPECT_EQ(rendered("3. three\n"), "<ol start=\"3\">\n<li>three</li>\n</ol>\n");
}

TEST(SiteMarkdown, RendersTables) {
  EXPECT_EQ(rendered("| a | b |\n|---|---|\n| 1 | `x` |\n"),
            "<div class=\"scroll\"><table><thead><tr><th>a</th><th>b</th></tr>\n</thead><tbody>\n"
            "<tr><td>1</td><td><code>x</code></td></tr>\n</tbody></table></div>\n");
  EXPECT_NE(rendered("| a |\n|--:|\n| 1 |\n").find("<td class=\"num\">1</td>"), std::string::npos);
}

TEST(SiteMarkdown, RendersFencedCode) {
  const std::string text = rendered("Look:\n\n```cuda\nint a;\n```\n");
  EXPECT_NE(text.find("<pre class=\"code plain\""), std::string::npos);
  EXPECT_NE(text.find("int a;\n</code>"), std::string::npos);
}

TEST(SiteMarkdown, NothingThatIsWrittenBecomesMarkup) {
  for (const std::string_view text :
       {"<script>alert(1)</script>", "# <img src=x onerror=alert(1)>", "`</code><script>`", "**<b>**", "- <i>\n",
        "| <a> |\n|---|\n| <b> |\n", "> <script>", "```<script>\n</pre><script>\n```", "[<b>](javascript:alert(1))",
        "<javascript:alert(1)>", "<b>\n\n<i>\n", "![<img>](x)", "[a]\n\n[a]: javascript:alert(1)\n",
        "&lt;script&gt;&#60;img&#62;", "    <script>\n"}) {
    const std::string out = rendered(text);
    for (const std::string_view bad : {"<script", "<img", "<b>", "<i>", "<a", "href"})
      EXPECT_EQ(out.find(bad), std::string::npos) << text << " → " << out;
  }
}

TEST(SiteMarkdown, LinksAreTextAndAddress) {
  EXPECT_EQ(rendered("see [the manual](https://example.com/a)"),
            "<p>see the manual <small>(https://example.com/a)</small></p>\n");
  EXPECT_EQ(rendered("see <https://example.com/a>"), "<p>see https://example.com/a</p>\n");
  EXPECT_EQ(rendered("![a plot](plot.png)"), "<p>a plot <small>(plot.png)</small></p>\n");
  EXPECT_EQ(rendered("in[0] and out[i](x"), "<p>in[0] and out[i](x</p>\n");
}

TEST(SiteMarkdown, LeavesMarksAloneThatMarkNothing) {
  EXPECT_EQ(rendered("2 * 3 * 4, a_b_c, 5 ** 2, `open"), "<p>2 * 3 * 4, a_b_c, 5 ** 2, `open</p>\n");
  EXPECT_EQ(rendered("\\*plain\\*"), "<p>*plain*</p>\n");
}

TEST(SiteMarkdown, TellsTheLineOfEachBlockOfCode) {
  std::string found;
  const auto note = [&](std::string_view code, uint32_t first_line) {
    found += std::to_string(first_line) + ":" + std::string(code);
    return Html();
  };
  render_markdown(
      "Look:\n\n```cuda\n\n\nint a;\n```\n- item\n  ```\n  int b;\n\n  int c;\n  ```\n\nText\n\n    int d;\n", 3, note);
  EXPECT_EQ(found, "4:\n\nint a;\n10:int b;\n\nint c;\n17:int d;\n");
}

// An answer can be a megabyte of marks that are never closed, or that nest without end.
TEST(SiteMarkdown, HostileTextTakesTimeAndSpaceLinearInItsLength) {
  for (const std::string_view unit : {"**a ", "*a _b ", "`", "[", "> ", "- ", "|", "[a](", "1. x\n ", "  - a\n",
                                      "![a](", "~~a ", "<a", "&#", "[a]: b\n", "\\", "``` \n", "a* ", "_a_ "}) {
    std::string text;
    while (text.size() < 300'000) text += unit;
    EXPECT_LT(rendered(text + "\nend").size(), 20 * text.size()) << unit;
  }
  std::string nested;
  for (int i = 0; i < 30'000; ++i) nested += "*a ";
  for (int i = 0; i < 30'000; ++i) nested += " a*";
  EXPECT_LT(rendered(nested).size(), 20 * nested.size());
}

// Rows are padded to the width of the header: the number of cells is quadratic in the length of the text.
TEST(SiteMarkdown, AHostileTableIsShownUnrendered) {
  std::string table;
  for (int i = 0; i < 20'000; ++i) table += "|a";
  table += "|\n";
  for (int i = 0; i < 20'000; ++i) table += "|---";
  table += "|\n";
  for (int i = 0; i < 20'000; ++i) table += "|x|\n";
  const std::string out = rendered(table);
  EXPECT_TRUE(out.starts_with("<pre>|a|a"));
  EXPECT_LT(out.size(), 2 * table.size());
}

}  // namespace
}  // namespace fb::report::site
