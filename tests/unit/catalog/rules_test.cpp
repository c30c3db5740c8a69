#include "judge/catalog/rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "common/api/rows.h"
#include "common/base/strings.h"

namespace fb::catalog {
namespace {

TEST(Rules, EveryRuleNamesItsCallsAndSaysWhatItForbids) {
  EXPECT_FALSE(rules().empty());
  for (const Rule& rule : rules()) {
    EXPECT_FALSE(rule.words.empty()) << rule.kind;
    EXPECT_FALSE(rule.about.empty()) << rule.kind;
  }
}

TEST(Rules, EveryWordIsACallOrHowOneBegins) {
  // Functions of <infiniband/verbs.h> that libibverbs does not export: they are inline.
  std::vector<std::string_view> calls = {"ibv_alloc_mw", "ibv_dealloc_mw",    "ibv_post_send",   "ibv_post_recv",
                                         "ibv_poll_cq",  "ibv_post_srq_recv", "ibv_wr_complete", "ibv_start_poll"};
  for (const auto table :
       {api::cuda_runtime(), api::cuda_driver(), api::nccl(), api::cublas(), api::cublaslt(), api::verbs()}) {
    for (const api::Row& row : table) calls.push_back(row.name);
  }
  for (const Rule& rule : rules()) {
    for (const std::string_view word : split(rule.words, ' ')) {
      const bool found = std::ranges::any_of(calls, [&](std::string_view call) { return call.starts_with(word); });
      EXPECT_TRUE(found || word == "<<<") << word;
    }
  }
}

TEST(Rules, AreFoundByKind) {
  ASSERT_NE(find_rule("copy"), nullptr);
  EXPECT_EQ(find_rule("copy")->kind, "copy");
  EXPECT_EQ(find_rule("cudaMemcpy"), nullptr);
}

}  // namespace
}  // namespace fb::catalog
