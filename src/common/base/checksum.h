#pragma once

// A checksum against damage, many times as fast as content_hash.h: XXH3 of 128 bits as 32 hexadecimal digits. Texts
// with equal checksums can be made on purpose: never a key for bytes that a candidate chooses.

#include <string>
#include <string_view>

namespace fb {

inline constexpr size_t kChecksumLength = 32;

std::string checksum(std::string_view bytes);

}  // namespace fb
