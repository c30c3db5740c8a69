#include "campaign/report/site/html.h"

#include <gtest/gtest.h>

namespace fb::report::site {
namespace {

TEST(SiteHtml, EscapesEverythingThatMarkupIsMadeOf) {
  EXPECT_EQ(escape("<script>alert('1')</script> \"a\" & b ]]>"),
            "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &quot;a&quot; &amp; b ]]&gt;");
}

TEST(SiteHtml, KeepsTextOfAllScripts) {
  EXPECT_EQ(escape("µs – 漢字 \U0001f600\ttab\nline"), "µs – 漢字 \U0001f600\ttab\nline");
}

TEST(SiteHtml, ReplacesWhatIsNoUtf8) {
  const std::string mark = "\xef\xbf\xbd";
  EXPECT_EQ(escape("a\xff\xfe"), "a" + mark + mark);
  EXPECT_EQ(escape("\xc3"), mark);                                   // cut off
  EXPECT_EQ(escape("\xc0\xbc"), mark + mark);                        // "<" in a form that is too long
  EXPECT_EQ(escape("\xed\xa0\x80"), mark + mark + mark);             // half of a pair
  EXPECT_EQ(escape("\xf5\x80\x80\x80"), mark + mark + mark + mark);  // beyond the last character
}

TEST(SiteHtml, ReplacesControlCharactersAndDropsCarriageReturns) {
  EXPECT_EQ(escape(std::string_view("a\0b\x1b[31m\x7f\r\n", 11)),
            "a\xef\xbf\xbd"
            "b\xef\xbf\xbd[31m\xef\xbf\xbd\n");
}

TEST(SiteHtml, ShowsCharactersThatDeceiveByTheirNumber) {
  EXPECT_EQ(escape("a\u202eb"), "a⟨U+202E⟩b");
  EXPECT_EQ(escape("\u2028\u2029\u2066\ufeff"), "⟨U+2028⟩⟨U+2029⟩⟨U+2066⟩⟨U+FEFF⟩");
}

TEST(SiteHtml, PatternsTakeMarkupAsItIsAndEscapeText) {
  const Html inner = html("<b>{}</b>", "<i>");
  EXPECT_EQ(inner.str(), "<b>&lt;i&gt;</b>");
  EXPECT_EQ(html("<p class=\"{}\">{} {} {:.1f}</p>", std::string("a\"b"), inner, 3, 0.25).str(),
            "<p class=\"a&quot;b\"><b>&lt;i&gt;</b> 3 0.2</p>");
}

TEST(SiteHtml, NothingInDataCanEndItsElement) {
  const std::string text = Html::data("data-x", R"(["</script><script>alert(1)</script>", "<!--", "a & b"])").str();
  EXPECT_EQ(text.find("</script>"), text.rfind("</script>"));
  EXPECT_EQ(text.find("<!--"), std::string::npos);
  EXPECT_NE(text.find("\\u003c/script\\u003e"), std::string::npos);
}

TEST(SiteHtml, NamesOfFilesStayInTheirFolder) {
  EXPECT_EQ(file_word("model-4.1_x+y"), "model-4.1_x+y");
  EXPECT_EQ(file_word(".."), "~2e.");
  EXPECT_EQ(file_word("../../etc/passwd"), "~2e.~2f..~2fetc~2fpasswd");
  EXPECT_EQ(file_word("a b\"<"), "a~20b~22~3c");
  EXPECT_EQ(file_word(""), "~");
  EXPECT_NE(file_word("a~20b"), file_word("a b"));
}

}  // namespace
}  // namespace fb::report::site
