#include "common/base/content_hash.h"

#include <gtest/gtest.h>

#include "common/base/checksum.h"

namespace fb {
namespace {

TEST(ContentHash, HashesListsByTheirWords) {
  EXPECT_NE(hash_words({"ab", "c"}), hash_words({"a", "bc"}));
  EXPECT_NE(hash_words({"a", ""}), hash_words({"a"}));
  EXPECT_EQ(hash_words({"a", "b"}), hash_words({"a", "b"}));
}

// Records and caches of other machines hold these hashes: they must never change. `b2sum --length 256` prints the same.
TEST(ContentHash, IsBlake2b) {
  EXPECT_EQ(hash_bytes(""), "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
  EXPECT_EQ(hash_bytes("abc"), "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
  EXPECT_EQ(hash_bytes("").size(), kContentHashLength);
}

TEST(Checksum, IsXxh3) {
  EXPECT_EQ(checksum(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(checksum("").size(), kChecksumLength);
}

// XXH3 multiplies the halves of each word, after an exclusive or with a secret that is public. Where the lower half is
// the secret's, the product is zero whatever the upper one is, and only the sum of such words counts.
std::string text_of_halves(char first, char second) {
  std::string text(512, '/');
  text.replace(0, 8, {'\xb8', '\xfe', '\x6c', '\x39', first, 0, 0, 0});
  text.replace(64, 8, {'\x7c', '\x01', '\x81', '\x2c', second, 0, 0, 0});
  return text;
}

TEST(ContentHash, TextsThatAreMadeToBeEqualAreNot) {
  const std::string one = text_of_halves(1, 4), other = text_of_halves(2, 3);
  ASSERT_NE(one, other);
  EXPECT_EQ(checksum(one), checksum(other)) << "the reason why no key is a checksum";
  EXPECT_NE(hash_bytes(one), hash_bytes(other));
  EXPECT_NE(hash_words({"object", one}), hash_words({"object", other}));
}

}  // namespace
}  // namespace fb
