#include "judge/catalog/names.h"

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

}  // namespace
}  // namespace fb::catalog
