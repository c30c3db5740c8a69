#pragma once

// Which warp runs next, and for how long. Everything that is chosen is chosen here.

#include <cstdint>
#include <deque>
#include <vector>

#include "base/rng.h"
#include "simt/block.h"
#include "simt/warp.h"

namespace fb::machine {

enum class Order : uint8_t {
  first_come,  // long turns, nothing chosen: the plain and fastest one
  random,      // drawn from the seed, short turns
  by_time,     // whoever is earliest in virtual time
};

class RunQueue {
 public:
  explicit RunQueue(Order order, uint64_t seed = 0) : order_(order), rng_(seed) {}

  void push(simt::Warp& warp);
  bool empty() const { return ready_.empty() && heap_.empty(); }
  simt::Warp& pop();
  // by_time: when the next one is due.
  uint64_t next_time() const { return heap_.front().when; }
  // Takes out all warps of a grid.
  void remove(const simt::Grid& grid);
  void clear();

  // Instructions until the next choice. At random most turns are short and some are long: 1 to 2^k, k drawn first.
  uint64_t quantum();
  // One of `options` ways to go on; 0 unless at random.
  uint64_t choose(uint64_t options) { return order_ == Order::random ? rng_.below(options) : 0; }
  Order order() const { return order_; }

 private:
  static constexpr uint64_t kLongTurn = 16384;
  static constexpr uint64_t kTimedTurn = 256;
  static constexpr uint64_t kLargestPower = 9;

  struct Due {
    uint64_t when = 0;
    uint64_t number = 0;  // first come, first served among those due at the same time
    simt::Warp* warp = nullptr;
    friend bool operator<(const Due& a, const Due& b) {
      return a.when != b.when ? a.when > b.when : a.number > b.number;
    }
  };

  Order order_;
  Rng rng_;
  uint64_t next_number_ = 0;
  std::deque<simt::Warp*> ready_;
  std::vector<Due> heap_;  // by_time
};

}  // namespace fb::machine
