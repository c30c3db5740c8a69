#pragma once

#include <cstdint>
#include <initializer_list>

namespace fb {

// Folds words into a hash: the same on every machine. For logs and caches, not for secrets.
constexpr uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 32;
}
constexpr uint64_t mix(uint64_t hash, std::initializer_list<uint64_t> words) {
  for (const uint64_t word : words) hash = mix(hash, word);
  return hash;
}

}  // namespace fb
