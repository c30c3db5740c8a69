#include "common/base/spelling.h"

#include <gtest/gtest.h>

namespace fb {
namespace {

TEST(Spelling, TheNearestComesFirst) {
  const std::vector<std::string> known = {"all_reduce_ring", "all_reduce_one_shot", "peer_copy", "ipc_copy", "n"};
  EXPECT_EQ(nearest("all_reduce_rin", known)[0], "all_reduce_ring");
  EXPECT_EQ(nearest("one_shot", known), (std::vector<std::string>{"all_reduce_one_shot"}));
  EXPECT_EQ(nearest("per_copy", known)[0], "peer_copy");
  EXPECT_TRUE(nearest("something_else_entirely", known).empty());
  EXPECT_EQ(did_you_mean("pear_copy", known), "; did you mean 'peer_copy'?");
  EXPECT_EQ(did_you_mean("copy", known), "; did you mean 'ipc_copy' or 'peer_copy'?");
  EXPECT_EQ(did_you_mean("one_shott", known), "; did you mean 'all_reduce_one_shot'?");
  EXPECT_EQ(did_you_mean("layout", std::vector<std::string>{"about"}), "");
  EXPECT_EQ(did_you_mean("qqqqqqqq", known), "");
  EXPECT_EQ(did_you_mean("prvoe", std::vector<std::string>{"prove", "prompt"}), "; did you mean 'prove'?");
}

}  // namespace
}  // namespace fb
