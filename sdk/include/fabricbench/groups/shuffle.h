// Shuffles of any trivially copyable type, word by word.
#pragma once
#include "fabricbench/device/warp.h"

namespace fabricbench {

// move(word) shuffles one 32-bit word.
template <class T, class Move>
FABRICBENCH_DEVICE T shuffle_words(T value, Move move) {
  constexpr int kWords = (sizeof(T) + 3) / 4;
  unsigned int words[kWords] = {};
  __builtin_memcpy(words, &value, sizeof(T));
#pragma unroll
  for (int i = 0; i < kWords; ++i) words[i] = move(words[i]);
  __builtin_memcpy(&value, words, sizeof(T));
  return value;
}

}  // namespace fabricbench
