#include "common/base/content_hash.h"

#include <gtest/gtest.h>

namespace fb {
namespace {

TEST(ContentHash, HashesListsByTheirWords) {
  EXPECT_NE(hash_words({"ab", "c"}), hash_words({"a", "bc"}));
  EXPECT_NE(hash_words({"a", ""}), hash_words({"a"}));
  EXPECT_EQ(hash_words({"a", "b"}), hash_words({"a", "b"}));
}

// Records and caches of other machines hold these hashes: they must never change.
TEST(ContentHash, IsXxh3) {
  EXPECT_EQ(hash_bytes(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hash_bytes("").size(), kContentHashLength);
}

}  // namespace
}  // namespace fb
