#pragma once

// Which warp runs next, and for how long. Everything that is chosen is chosen here, from the seed.

#include <cstdint>
#include <deque>
#include <vector>

#include "base/rng.h"
#include "simt/warp.h"

namespace fb::machine {

class RunQueue {
 public:
  // Seed 0: first come, first served, long turns. Any other: drawn at random, short turns.
  explicit RunQueue(uint64_t seed) : seed_(seed), rng_(seed) {}

  void push(simt::Warp& warp) {
    if (warp.queued) return;
    warp.queued = true;
    ready_.push_back(&warp);
  }
  bool empty() const { return ready_.empty(); }
  simt::Warp& pop();
  void clear();

  // Instructions until the next choice. With a seed most turns are short and some are long: 1 to 2^k, k drawn first.
  uint64_t quantum() { return seed_ == 0 ? kLongTurn : 1 + rng_.below(uint64_t{1} << rng_.below(kLargestPower + 1)); }
  // One of `options` ways to go on; 0 for seed 0.
  uint64_t choose(uint64_t options) { return seed_ == 0 ? 0 : rng_.below(options); }
  bool seeded() const { return seed_ != 0; }

 private:
  static constexpr uint64_t kLongTurn = 16384;
  static constexpr uint64_t kLargestPower = 9;

  uint64_t seed_;
  Rng rng_;
  std::deque<simt::Warp*> ready_;
};

}  // namespace fb::machine
