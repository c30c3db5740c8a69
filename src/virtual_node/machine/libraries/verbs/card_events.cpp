#include "virtual_node/machine/libraries/verbs/card_events.h"

#include <algorithm>

namespace fb::machine {
namespace {

constexpr uint64_t kTieOfCards = 0;

}  // namespace

void CardEvents::clear() {
  events_.clear();
  timers_.clear();
}

Time CardEvents::now() const { return std::max(now_, engine_.now()); }

void CardEvents::at(Time time, std::function<void()> call) {
  const Time when = std::max(time, now());
  events_.emplace(std::pair{when, next_event_++}, std::move(call));
  engine_.schedule(when, kTieOfCards, [this] { fire(); }, {EventAbout::Kind::memory});
}

void CardEvents::at_unless(Time time, std::function<bool()> is_over, std::function<void()> call) {
  const uint64_t number = ++next_timer_;
  const Time when = std::max(time, now());
  timers_.emplace(number, std::move(is_over));
  const auto is_void = [this, number] {
    const auto found = timers_.find(number);
    return found == timers_.end() || found->second();
  };
  engine_.schedule(
      when, kTieOfCards,
      [this, number, when, call = std::move(call)] {
        if (timers_.erase(number) == 0) return;
        now_ = std::max(now_, when);
        call();
      },
      {EventAbout::Kind::memory}, is_void);
}

bool CardEvents::are_over() {
  std::erase_if(timers_, [](const auto& timer) { return timer.second(); });
  return events_.empty() && timers_.empty();
}

void CardEvents::fire() {
  if (events_.empty()) return;
  const auto first = events_.extract(events_.begin());
  now_ = std::max(now_, first.key().first);
  engine_.polls().note_progress();
  first.mapped()();
}

}  // namespace fb::machine
