#include "virtual_node/machine/engine/schedule/random_policy.h"

#include <algorithm>
#include <array>
#include <utility>

namespace fb::machine {

// Ready warps

void RandomPolicy::insert(simt::Warp& warp) {
  if (warp.polls()) return polling_.push(warp);
  (splits_slow() && slow_party_.contains(warp) ? slow_ : ready_).push(warp);
}

void RandomPolicy::remove(const simt::Grid& grid) {
  ready_.remove(grid);
  slow_.remove(grid);
  polling_.remove(grid);
}

simt::Warp& RandomPolicy::pop() {
  const bool only_polls = ready_.empty() && slow_.empty();
  if (only_polls || (!polling_.empty() && rng_.below(kPolling) == 0)) return draw_from(polling_);
  if (slow_.empty()) return draw_from(ready_);
  if (ready_.empty()) {
    late_ = false;  // the others can't go on
    return draw_from(slow_);
  }
  if (is_held_back()) return draw_from(ready_);
  if (strategy_ == Strategy::straggler) return draw_from(rng_.below(kStraggler) == 0 ? slow_ : ready_);
  const size_t k = rng_.below(ready_.size() + slow_.size());
  return k < ready_.size() ? ready_.take(k) : slow_.take(k - ready_.size());
}

void RandomPolicy::on_quantum_end(const simt::Warp& warp, uint64_t executed, simt::Stop /*stop*/) {
  if (late_ && !slow_party_.contains(warp)) done_by_others_ += executed;
}

// Events and copies

void RandomPolicy::add(TimedEvent event) {
  const uint32_t device = event.about.device;
  (device != kNoDevice && device == slow_device() ? slow_events_ : events_).push(std::move(event));
}

// Events of the slow link come last, or rarely: a host may poll for ever.
EventQueue* RandomPolicy::next_events(bool idle) {
  if (slow_events_.empty()) return events_.empty() ? nullptr : &events_;
  if (events_.empty()) return idle || takes_slow() ? &slow_events_ : nullptr;
  return takes_slow() ? &slow_events_ : &events_;
}

std::optional<size_t> RandomPolicy::next_copy(const Copies& copies, bool idle) {
  const size_t drawn = rng_.below(copies.size());
  const uint32_t slow = slow_device();
  const auto is_slow = [&](const auto& c) { return c->block->device == slow; };
  if (slow == kNoDevice || !is_slow(copies[drawn]) || takes_slow()) return drawn;
  const auto other = std::ranges::find_if_not(copies, is_slow);
  if (other != copies.end()) return static_cast<size_t>(other - copies.begin());
  return idle || copies.size() > kMostCopiesInFlight ? std::optional(drawn) : std::nullopt;
}

// The slow party

void RandomPolicy::on_device_used(uint32_t device, bool idle) {
  const uint32_t before = slow_device();
  if (slow_party_.use(device) && splits_slow()) sort_warps();
  if (slow_device() != before) sort_events();
  if (!idle || strategy_ != Strategy::late_device) return;
  // An episode begins: from here until all work has ended, mostly one call of a collective.
  constexpr uint64_t kLeastPower = 8, kMostPower = 18;
  late_ = true;
  done_by_others_ = 0;
  late_until_ = uint64_t{1} << (kLeastPower + rng_.below(kMostPower - kLeastPower + 1));
}

void RandomPolicy::sort_warps() {
  const std::array lists = {std::exchange(ready_, {}), std::exchange(slow_, {})};
  for (const WarpList& list : lists) {
    for (simt::Warp* warp : list) insert(*warp);
  }
}

void RandomPolicy::sort_events() {
  for (auto& events : {events_.drain(), slow_events_.drain()}) {
    for (const TimedEvent& event : events) add(event);
  }
}

}  // namespace fb::machine
