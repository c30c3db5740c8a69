#pragma once

// A limit on bytes in flight: a sender at the limit waits until the oldest bytes have been acknowledged. It makes one
// multiprocessor slower than a link (Little's law: rate = bytes in flight / round trip), and provides backpressure when
// a link is full.

#include <algorithm>
#include <cstdint>

#include "fabric/time.h"

namespace fb::fabric {

class FlowControl {
 public:
  // When `bytes` that are ready at `at` may leave.
  Time enter(Time at, uint64_t bytes, uint64_t limit) {
    while (held_ + bytes > limit && count_ > 0) {
      const Batch& oldest = batches_[first_ % kBatches];
      room_from_ = std::max(room_from_, oldest.back);
      held_ -= oldest.bytes;
      ++first_;
      --count_;
    }
    return std::max(at, room_from_);
  }

  // They have left and are acknowledged at `back`.
  void leave(Time back, uint64_t bytes, uint64_t limit);

 private:
  // Bytes are kept in batches of a sixteenth of the limit, so that few are enough.
  static constexpr uint32_t kBatches = 32;
  static constexpr uint64_t kParts = 16;

  struct Batch {
    Time back = 0;
    uint64_t bytes = 0;
  };
  uint64_t held_ = 0;
  Time room_from_ = 0;  // the last acknowledgement among bytes no longer held
  uint32_t first_ = 0;
  uint32_t count_ = 0;
  Batch batches_[kBatches];
};

}  // namespace fb::fabric
