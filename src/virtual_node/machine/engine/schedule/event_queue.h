#pragma once

// Pending events, earliest first.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "virtual_node/machine/engine/schedule/strategy.h"

namespace fb::machine {

using Time = uint64_t;  // picoseconds

// What an event is about, for policies other than by time.
struct EventAbout {
  enum class Kind : uint8_t {
    bookkeeping,  // touches no memory that kernels see
    memory,       // reads or writes such memory
    poll,         // answers a host thread that polls
  };
  Kind kind = Kind::bookkeeping;
  uint32_t device = kNoDevice;  // the device that owns the link or copy engine it needs
};

// Ordered by {at, tie, number}; numbers are unique, so the order is total.
struct TimedEvent {
  Time at = 0;
  uint64_t tie = 0;
  uint64_t number = 0;
  EventAbout about;
  std::function<void()> what;
  std::function<bool()> is_over = nullptr;  // it has become void: no time passes for it
};
inline bool is_void(const TimedEvent& event) { return event.is_over && event.is_over(); }

class EventQueue {
 public:
  void push(TimedEvent event);
  bool empty() const { return heap_.empty(); }
  // The next event; the queue must not be empty.
  const TimedEvent& front() const { return heap_.front(); }
  TimedEvent pop();
  // When the first event comes that is no answer to a poll, and not void.
  std::optional<Time> next_but_polls() const;

  // All events, earliest first. take(k) removes the k-th of them; no push() may come in between.
  std::span<const TimedEvent> sorted();
  TimedEvent take(size_t k);

  // Empties the queue, in no particular order.
  std::vector<TimedEvent> drain();

 private:
  std::vector<TimedEvent> heap_;  // a sorted vector is a heap, too
};

}  // namespace fb::machine
