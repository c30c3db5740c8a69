#include "judge/catalog/rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "common/api/rows.h"
#include "common/base/strings.h"
#include "common/wire/collectives.h"

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

// wire/messages.def, api/nccl.def and wire/collectives.def name the same functions.
TEST(Rules, CollectivesAreTheRowsOfTheirTable) {
  const Rule* const rule = find_rule("collective");
  ASSERT_NE(rule, nullptr);
  const auto words = split(rule->words, ' ');
  ASSERT_EQ(words.size(), wire::kCollectives.size());
  for (size_t k = 0; k < words.size(); ++k) {
    const wire::CollectiveFacts& facts = wire::kCollectives[k];
    EXPECT_EQ(words[k], facts.function);
    EXPECT_EQ(&facts_of(facts.kind), &facts);
    const auto row = std::ranges::find(api::nccl(), facts.function, &api::Row::name);
    ASSERT_NE(row, api::nccl().end()) << facts.function;
    EXPECT_TRUE(row->real) << facts.function;
  }
}

// What the checks on either side of the wire take for granted.
TEST(Collectives, TheirColumnsAgree) {
  using wire::CollectiveFamily, wire::CollectivePeer, wire::CollectiveSpan;
  const auto is_of_root = [](CollectiveSpan s) {
    return s == CollectiveSpan::root_one || s == CollectiveSpan::root_all;
  };
  const auto is_of_all = [](CollectiveSpan s) { return s == CollectiveSpan::all || s == CollectiveSpan::root_all; };
  for (const wire::CollectiveFacts& f : wire::kCollectives) {
    EXPECT_TRUE(is_known(f.kind));
    const bool ends = f.peer == CollectivePeer::to || f.peer == CollectivePeer::from;
    EXPECT_EQ(ends, f.family != CollectiveFamily::all_ranks) << f.function << ": one other rank, or all";
    EXPECT_EQ(is_of_root(f.send) || is_of_root(f.receive), f.peer == CollectivePeer::root) << f.function;
    EXPECT_FALSE(is_of_all(f.send) && ends) << f.function;
    EXPECT_FALSE(f.reduces && f.family != CollectiveFamily::all_ranks) << f.function;
    const bool message = f.family == CollectiveFamily::message, to = f.peer == CollectivePeer::to;
    EXPECT_TRUE(!message || (f.send == CollectiveSpan::one) == to) << f.function;
  }
  EXPECT_FALSE(wire::is_known(static_cast<wire::CollectiveKind>(wire::kCollectives.size())));
}

TEST(Rules, AreFoundByKind) {
  ASSERT_NE(find_rule("copy"), nullptr);
  EXPECT_EQ(find_rule("copy")->kind, "copy");
  EXPECT_EQ(find_rule("cudaMemcpy"), nullptr);
}

}  // namespace
}  // namespace fb::catalog
