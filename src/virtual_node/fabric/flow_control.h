#pragma once

// A limit on bytes in flight: a sender at the limit waits until the oldest bytes have been acknowledged. It makes one
// multiprocessor slower than a link (Little's law: rate = bytes in flight / round trip), and provides backpressure when
// a link is full.

#include <algorithm>
#include <cstdint>

#include "common/platform/time.h"

namespace fb::fabric {

using platform::Time;

class FlowControl {
 public:
  // When `bytes` that are ready at `at` may leave.
  Time enter(Time at, uint64_t bytes, uint64_t limit) {
    while (held_ + bytes > limit && count_ > 0) {
      const Batch& oldest = batches_[first_ % kBatches];
      if (oldest.back > room_from_) {
        room_from_ = oldest.back;
        round_trip_ = oldest.back - oldest.issued;
      }
      held_ -= oldest.bytes;
      ++first_;
      --count_;
    }
    return std::max(at, room_from_);
  }

  // They have left at `issued` and are acknowledged at `back`.
  void leave(Time issued, Time back, uint64_t bytes, uint64_t limit);

  // Of the bytes that the last enter() had to wait for, if it had to.
  Time round_trip() const { return round_trip_; }

 private:
  // Bytes are kept in batches of a sixteenth of the limit, so that few are enough.
  static constexpr uint32_t kBatches = 32;
  static constexpr uint64_t kParts = 16;

  struct Batch {
    Time back = 0;    // the last of them
    Time issued = 0;  // … when it left
    uint64_t bytes = 0;
  };
  uint64_t held_ = 0;
  Time room_from_ = 0;   // the last acknowledgement among bytes no longer held
  Time round_trip_ = 0;  // of that
  uint32_t first_ = 0;
  uint32_t count_ = 0;
  Batch batches_[kBatches];
};

}  // namespace fb::fabric
