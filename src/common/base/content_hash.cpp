#include "common/base/content_hash.h"

#include <fmt/format.h>
#include <sodium.h>

#include <array>

#include "common/base/check.h"

namespace fb {

std::string hash_bytes(std::string_view bytes) {
  static const bool ready = sodium_init() >= 0;  // chooses the code for this processor
  FB_CHECK(ready);
  std::array<unsigned char, kContentHashLength / 2> hash;
  FB_CHECK(crypto_generichash(hash.data(), hash.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                              bytes.size(), nullptr, 0) == 0);
  std::string digits;
  for (const unsigned char byte : hash) digits += fmt::format("{:02x}", byte);
  return digits;
}

std::string hash_words(const std::vector<std::string>& words) {
  std::string all;
  for (const auto& word : words) all += fmt::format("{}:{}", word.size(), word);
  return hash_bytes(all);
}

}  // namespace fb
