#include "catalog/names.h"

#include <gtest/gtest.h>

namespace fb::catalog {
namespace {

TEST(Names, SnakeCaseIsTold) {
  for (const char* name : {"n", "all_reduce", "top_k", "fp8_gemm", "a1_2"}) EXPECT_TRUE(is_snake_case(name)) << name;
  for (const char* name : {"", "N", "allReduce", "_n", "n_", "a__b", "1n", "a-b", "a b", "ä"})
    EXPECT_FALSE(is_snake_case(name)) << name;
}

TEST(Names, LabelsMayHaveDashes) {
  for (const char* name : {"all-reduce", "ipc", "nccl-device", "2d"}) EXPECT_TRUE(is_label(name)) << name;
  for (const char* name : {"", "-a", "a-", "a--b", "A", "a b"}) EXPECT_FALSE(is_label(name)) << name;
}

TEST(Names, FieldsCollideWithNothing) {
  EXPECT_EQ(why_no_field("hidden"), "");
  for (const char* name : {"int", "class", "xor", "world", "rank", "min", "int64_t", "In", "linux", "requires"})
    EXPECT_NE(why_no_field(name), "") << name;
}

TEST(Names, TheNearestComesFirst) {
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
}

}  // namespace
}  // namespace fb::catalog
