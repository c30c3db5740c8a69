#include "judge/catalog/source.h"
#include "sample.h"

namespace fb::catalog {
namespace {

using Texts = std::vector<std::pair<std::string, std::string>>;

class Template : public ProblemFolder {
 protected:
  std::string spliced(const Problem& problem, const Texts& texts) {
    const auto text = splice(problem, texts);
    return text ? *text : to_string(text.error(), "!");
  }
};

constexpr std::string_view kComment = R"(// In args.h:
//   struct Args {
//     const __nv_bfloat16* in;  // [zeta][alpha + rank] what goes in
//     int64_t* out;             // [zeta * world] what comes out
//     int64_t zeta;             // comes first
//     int64_t alpha;            // comes second
//   };
)";

TEST_F(Template, ArgsHasTensorsThenParameters) {
  EXPECT_EQ(args_header(load()), R"(#pragma once

// Made from problem.toml of p2p/sample.

#include <cuda_bf16.h>
#include <cstdint>

struct Args {
  const __nv_bfloat16* in;  // [zeta][alpha + rank] what goes in
  int64_t* out;             // [zeta * world] what comes out
  int64_t zeta;             // comes first
  int64_t alpha;            // comes second
};
)");
}

TEST_F(Template, ShowsPlaceholdersAndArgsAndNoSolution) {
  const auto text = make_template(load());
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, "#include <cuda_runtime.h>\n#include \"args.h\"\n" + std::string(kComment) +
                       "// given\n// [solution]\nclass Solution {\n  // TODO\n};\n// [/solution]\n// also given\n");
}

TEST_F(Template, IsAnAnswerItself) {
  const Problem problem = load();
  const auto text = make_template(problem);
  ASSERT_TRUE(text);
  const auto regions = regions_of(*text);
  ASSERT_TRUE(regions);
  ASSERT_EQ(regions->size(), 1u);
  EXPECT_EQ(spliced(problem, {{"", (*regions)[0].solution}}), *text);
}

TEST_F(Template, TakesTheTextsOfAnAnswer) {
  const Problem problem = load();
  const std::string text = spliced(problem, {{"", "int mine;"}});
  EXPECT_NE(text.find("// given\n// [solution]\nint mine;\n// [/solution]\n// also given\n"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("TODO"), std::string::npos);
}

TEST_F(Template, SeveralRegionsAreTakenByName) {
  Problem problem = load();
  problem.reference =
      "// [solution: a]\n1\n// [template]\n//| A\n// [/solution]\nmiddle\n// [solution: b]\n2\n// [template]\n//| "
      "B\n// "
      "[/solution]\n";
  EXPECT_EQ(make_template(problem),
            "// [solution: a]\nA\n// [/solution]\nmiddle\n// [solution: b]\nB\n// [/solution]\n");
  EXPECT_EQ(spliced(problem, {{"b", "y\n"}, {"a", "x\n"}}),
            "// [solution: a]\nx\n// [/solution]\nmiddle\n// [solution: b]\ny\n// [/solution]\n");
  EXPECT_EQ(spliced(problem, {{"a", "x"}, {"c", "y"}}),
            "!: there is no region '// [solution: c]' in the template\n!: the region '// [solution: b]' is missing\n");
  EXPECT_EQ(spliced(problem, {{"a", "x"}, {"b", "y"}, {"a", "z"}}),
            "!: the region '// [solution: a]' is given twice\n");
}

TEST_F(Template, ATextCantCloseItsRegion) {
  EXPECT_EQ(spliced(load(), {{"", "x\n// [/solution]\ny"}}), "!: the text of '// [solution]' holds a marker\n");
}

}  // namespace
}  // namespace fb::catalog
