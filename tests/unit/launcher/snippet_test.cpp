#include "launcher/snippet.h"

#include <gtest/gtest.h>

#include "common/base/strings.h"
#include "common/base/temp_dir.h"

namespace fb::launcher {
namespace {

class SnippetTest : public testing::Test {
 protected:
  SnippetTest() {
    std::string text;
    for (int line = 1; line <= 40; ++line) text += "line " + std::to_string(line) + "\n";
    write_file(path_, text);
  }
  record::Incident at(uint32_t first, uint32_t then) const {
    record::Incident incident;
    incident.sites = {{"first", "", "", {{path_, first, "f"}}}, {"then", "", "", {{path_, then, "g"}}}};
    return incident;
  }

  TempDir folder_;
  std::string path_ = folder_.path() + "/a.cu";
};

TEST_F(SnippetTest, MarksBothLinesWithLinesAroundThem) {
  EXPECT_EQ(snippet_of(at(1, 30)), "  " + path_ +
                                       "\n"
                                       "  first >     1 | line 1\n"
                                       "              2 | line 2\n"
                                       "              3 | line 3\n"
                                       "              …\n"
                                       "             28 | line 28\n"
                                       "             29 | line 29\n"
                                       "   then >    30 | line 30\n"
                                       "             31 | line 31\n"
                                       "             32 | line 32\n");
}

TEST_F(SnippetTest, LinesThatAreCloseAreOnePiece) {
  EXPECT_EQ(snippet_of(at(12, 10)), "  " + path_ +
                                        "\n"
                                        "              8 | line 8\n"
                                        "              9 | line 9\n"
                                        "   then >    10 | line 10\n"
                                        "             11 | line 11\n"
                                        "  first >    12 | line 12\n"
                                        "             13 | line 13\n"
                                        "             14 | line 14\n");
}

TEST_F(SnippetTest, OneLineCanBeBoth) {
  EXPECT_NE(snippet_of(at(40, 40)).find("first, then >    40 | line 40\n"), std::string::npos);
}

TEST_F(SnippetTest, NothingIsSaidOfSourcesThatAreNotThere) {
  EXPECT_EQ(snippet_of(at(1, 41)), "");  // another file than was compiled
  record::Incident incident = at(1, 2);
  for (auto& site : incident.sites) site.frames[0].file = "/nowhere.cu";
  EXPECT_EQ(snippet_of(incident), "");
}

}  // namespace
}  // namespace fb::launcher
