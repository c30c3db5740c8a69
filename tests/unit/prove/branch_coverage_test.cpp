// What is missing where branches go one way only, and which arguments count.

#include "audit/prove/branch_coverage.h"

#include <gtest/gtest.h>

namespace fb::prove {
namespace {

catalog::Problem problem() {
  catalog::Problem p;
  p.reference = "line one\n  if (tail) copy();\nfor (;;) {\n}\n";
  return p;
}

record::BranchWays branch(std::string function, uint32_t line, bool jumped, bool fell_through) {
  static uint32_t ptx_line = 0;
  return {std::move(function), std::string(kReferenceFile), line, ++ptx_line, "@%p1 bra $L;", jumped, fell_through};
}

record::BranchWays kernel(std::string function, bool launched) {
  return {std::move(function), std::string(kReferenceFile), 1, 1, "", launched, launched};
}

TEST(BranchCoverage, NamesTheLineAndTheWay) {
  const Coverage found = cover(problem(), {kernel("k", true), branch("k", 2, true, false)});
  EXPECT_EQ(found.branches, 2u);
  EXPECT_NE(found.missing.find("reference.cu:2: in k: `if (tail) copy();`: the branch is always taken"),
            std::string::npos)
      << found.missing;
}

TEST(BranchCoverage, BranchesOfOneLineAreOne) {
  const Coverage found = cover(problem(), {kernel("k", true), branch("k", 3, false, true), branch("k", 3, true, true)});
  EXPECT_EQ(found.missing, "");
}

TEST(BranchCoverage, KernelsAreLaunchedAndInstancesCountByThemselves) {
  const Coverage found = cover(
      problem(), {kernel("a", true), branch("a", 2, true, true), kernel("b", false), branch("b", 2, false, false)});
  EXPECT_NE(found.missing.find("kernel b is never launched"), std::string::npos) << found.missing;
  EXPECT_NE(found.missing.find("in b: `if (tail) copy();`: never comes here"), std::string::npos) << found.missing;
}

TEST(BranchCoverage, InlinedFunctionsAndOtherFilesAreLeftOut) {
  auto elsewhere = branch("k", 2, true, false);
  elsewhere.file = "atomic";
  const Coverage found =
      cover(problem(), {kernel("k", true), elsewhere, branch("inlined", 2, false, false), branch("k", 0, true, false)});
  EXPECT_EQ(found.missing, "");
}

TEST(BranchCoverage, ArgumentsCountIfTheyAreNeeded) {
  catalog::Problem p = problem();
  p.unreached = {{.line = "if (tail)", .why = "no size has a tail"}};
  const Coverage argued = cover(p, {kernel("k", true), branch("k", 2, true, false)});
  EXPECT_EQ(argued.missing, "");
  EXPECT_EQ(argued.argued, 1u);
  const Coverage needless = cover(p, {kernel("k", true), branch("k", 2, true, true)});
  EXPECT_NE(needless.missing.find("`if (tail)` argues about nothing"), std::string::npos) << needless.missing;
}

}  // namespace
}  // namespace fb::prove
