#pragma once

// Hashes of content, for keys of caches and for records: BLAKE2b of 256 bits (libsodium) as 64 hexadecimal digits, the
// same on every machine. What is hashed may be a candidate's: two texts of one hash can't be made, so that none gets
// the verdict or the object of another. checksum.h is for other bytes. A library of its own, fb_content_hash: the
// libraries of ranks, which link base, must not need libsodium.so.

#include <string>
#include <string_view>
#include <vector>

namespace fb {

inline constexpr size_t kContentHashLength = 64;

std::string hash_bytes(std::string_view bytes);
// Of a list: {"ab", "c"} and {"a", "bc"} differ.
std::string hash_words(const std::vector<std::string>& words);

}  // namespace fb
