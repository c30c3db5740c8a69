#pragma once

// Events of network cards: in the order of their times, whatever the schedule.

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "virtual_node/machine/engine/engine.h"

namespace fb::machine {

class CardEvents {
 public:
  explicit CardEvents(Engine& engine) : engine_(engine) {}

  Time now() const;
  // Of equal times, in the order of these calls.
  void at(Time time, std::function<void()> call);
  // A timer: not called, and nothing waits for it, once it is over.
  void at_unless(Time time, std::function<bool()> is_over, std::function<void()> call);

  bool are_over();
  void clear();

 private:
  void fire();

  Engine& engine_;
  std::map<std::pair<Time, uint64_t>, std::function<void()>> events_;
  uint64_t next_event_ = 0;
  std::map<uint64_t, std::function<bool()>> timers_;  // whether they are over
  uint64_t next_timer_ = 0;
  Time now_ = 0;
};

}  // namespace fb::machine
