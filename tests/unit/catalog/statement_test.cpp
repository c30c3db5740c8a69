#include "judge/catalog/statement.h"

#include "sample.h"

namespace fb::catalog {
namespace {

class Statement : public ProblemFolder {
 protected:
  std::string missing(std::string statement) {
    Problem problem = load();
    problem.statement = std::move(statement);
    std::string text;
    for (const Diagnostic& d : lint_statement(problem)) text += d.message + "\n";
    return text;
  }
};

TEST_F(Statement, WithEverythingInBackticksIsComplete) {
  EXPECT_EQ(missing(std::string(kStatement)), "");
  EXPECT_EQ(missing("```cpp\nout[i] = in[zeta * alpha]; cudaMemcpy2D(); dlopen();\n```\n"), "");
}

TEST_F(Statement, LacksWhatItDoesNotMention) {
  EXPECT_EQ(missing("Nothing."),
            "statement.md: does not mention the tensor `in`\n"
            "statement.md: does not mention the tensor `out`\n"
            "statement.md: does not mention the parameter `zeta`\n"
            "statement.md: does not mention the parameter `alpha`\n"
            "statement.md: does not explain that `run` must do without copies by the copy engines (`cudaMemcpy`)\n"
            "statement.md: does not mention the forbidden symbol `dlopen`\n");
}

TEST_F(Statement, WordsOutsideBackticksOrInsideOthersDoNotCount) {
  EXPECT_EQ(missing("in the `input` and `out` with `zeta` and `alpha`, no `copy`, no `dlopen`"),
            "statement.md: does not mention the tensor `in`\n");
  EXPECT_EQ(missing("`out` in `zeta` and `alpha`, no `copy`, no `dlopen`"),
            "statement.md: does not mention the tensor `in`\n");
}

TEST_F(Statement, BackticksCloseWithAsManyAsTheyOpen) {
  EXPECT_EQ(missing("``in ` out zeta`` `alpha` `copy` `dlopen` and ` alone"), "");
}

}  // namespace
}  // namespace fb::catalog
