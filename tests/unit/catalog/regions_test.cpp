#include <gtest/gtest.h>

#include "judge/catalog/source.h"

namespace fb::catalog {
namespace {

std::string messages(std::string_view source) {
  const auto regions = regions_of(source);
  return regions ? "" : to_string(regions.error(), "x.cu");
}

TEST(Regions, OneHasSolutionAndPlaceholder) {
  const auto regions = regions_of("a\n// [solution]\nb\n\nc\n// [template]\n//| d\n//|\n//|   e\n// [/solution]\nf\n");
  ASSERT_TRUE(regions);
  ASSERT_EQ(regions->size(), 1u);
  const Region& region = (*regions)[0];
  EXPECT_EQ(region.name, "");
  EXPECT_EQ(region.line, 2u);
  EXPECT_EQ(region.solution, "b\n\nc\n");
  EXPECT_EQ(region.placeholder, "d\n\n  e\n");
}

TEST(Regions, SeveralHaveNamesAndKeepTheirOrder) {
  const auto regions = regions_of("// [solution: b]\n1\n// [/solution]\n// [solution: a]\n2\n// [/solution: a]\n");
  ASSERT_TRUE(regions);
  ASSERT_EQ(regions->size(), 2u);
  EXPECT_EQ((*regions)[0].name, "b");
  EXPECT_EQ((*regions)[1].name, "a");
  EXPECT_EQ((*regions)[1].solution, "2\n");
}

TEST(Regions, BlanksAndLineEndsDoNotMatter) {
  const auto regions = regions_of("  //[ solution :x ]\r\n\tkept  \n\t// [/solution]");
  ASSERT_TRUE(regions);
  EXPECT_EQ((*regions)[0].name, "x");
  EXPECT_EQ((*regions)[0].solution, "\tkept  \n");
}

TEST(Regions, PlaceholdersKeepTheirIndentation) {
  const auto regions = regions_of("// [solution]\n// [template]\n  //| x;\n  //|   y;\n  //|\n// [/solution]\n");
  ASSERT_TRUE(regions);
  EXPECT_EQ((*regions)[0].placeholder, "  x;\n    y;\n\n");
}

TEST(Regions, OtherCommentsAreNoMarkers) {
  const auto regions = regions_of("// [solution]\n// [solutions]\n// see [solution]\n// [note]\n// [/solution]\n");
  ASSERT_TRUE(regions);
  EXPECT_EQ((*regions)[0].solution, "// [solutions]\n// see [solution]\n// [note]\n");
}

TEST(Regions, MistakesAreLocated) {
  EXPECT_EQ(messages(""), "x.cu: has no region: '// [solution]' is missing\n");
  EXPECT_EQ(messages("a\n"), "x.cu: has no region: '// [solution]' is missing\n");
  EXPECT_EQ(messages("a\n// [solution]\nb\n"), "x.cu:2:1: is not closed: '// [/solution]' is missing\n");
  EXPECT_EQ(messages("// [/solution]\n"), "x.cu:1:1: '// [/solution]' closes nothing\n");
  EXPECT_EQ(messages("// [solution]\n// [solution: a]\n// [/solution]\n"),
            "x.cu:2:1: '// [solution: a]' inside the region of line 1\n");
  EXPECT_EQ(messages("// [solution]\n// [/solution]\n// [solution]\n// [/solution]\n"),
            "x.cu:3:1: '// [solution]' is in line 1 already\n");
  EXPECT_EQ(messages("// [template]\n// [solution]\n// [/solution]\n"), "x.cu:1:1: '// [template]' outside a region\n");
  EXPECT_EQ(messages("// [solution]\n// [template]\n// [template]\n// [/solution]\n"),
            "x.cu:3:1: a second '// [template]' in one region\n");
  EXPECT_EQ(messages("// [solution]\n// [template]\ncode\n// [/solution]\n"),
            "x.cu:3:1: between '// [template]' and '// [/solution]' lines begin with '//| '\n");
  EXPECT_EQ(messages("// [solution: a]\n// [/solution: b]\n"), "x.cu:2:1: closes 'b', but 'a' is open\n");
}

TEST(Regions, AllMistakesAreSaid) {
  EXPECT_EQ(messages("// [/solution]\n// [template]\n// [solution]\n"),
            "x.cu:1:1: '// [/solution]' closes nothing\n"
            "x.cu:2:1: '// [template]' outside a region\n"
            "x.cu:3:1: is not closed: '// [/solution]' is missing\n");
}

}  // namespace
}  // namespace fb::catalog
