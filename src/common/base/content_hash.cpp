#include "common/base/content_hash.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace fb {

std::string hash_bytes(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string hash_words(const std::vector<std::string>& words) {
  std::string all;
  for (const auto& word : words) all += fmt::format("{}:{}", word.size(), word);
  return hash_bytes(all);
}

}  // namespace fb
