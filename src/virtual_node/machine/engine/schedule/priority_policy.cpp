#include "virtual_node/machine/engine/schedule/priority_policy.h"

#include <algorithm>
#include <functional>

#include "virtual_node/machine/engine/schedule/strategy.h"

namespace fb::machine {

PriorityPolicy::PriorityPolicy(uint64_t seed, SyncSteps& steps) : rng_(seed), steps_(steps) { draw_other_priorities(); }

void PriorityPolicy::remove(const simt::Grid& grid) {
  ready_.remove(grid);
  std::erase_if(states_, [&](const auto& state) { return &state.first->block().grid() == &grid; });
}

uint64_t PriorityPolicy::quantum() { return steps_.attached() ? kLongQuantum : draw_quantum(rng_); }

void PriorityPolicy::draw_other_priorities() {
  event_priority_ = draw_priority();
  copy_priority_ = draw_priority();
}

PriorityPolicy::WarpState& PriorityPolicy::state_of(const simt::Warp& warp) {
  WarpState& state = states_[&warp];
  if (state.priority == 0) state.priority = draw_priority();
  return state;
}

void PriorityPolicy::on_quantum_end(const simt::Warp& warp, uint64_t /*executed*/, simt::Stop stop) {
  if (!steps_.attached()) steps_.take_quantum();
  const bool changes = steps_.take_due();
  if (changes) next_change_point();
  if (stop == simt::Stop::finished) {
    states_.erase(&warp);
    return;
  }
  WarpState& state = state_of(warp);
  // A warp that polls and never sleeps must not starve the others.
  state.quanta_awake = stop == simt::Stop::quantum ? state.quanta_awake + 1 : 0;
  if (!changes && !warp.polls() && state.quanta_awake < kMostQuantaAwake) return;
  state = {next_fallen_++, 0};
}

void PriorityPolicy::on_device_used(uint32_t /*device*/, bool idle) {
  if (idle) draw_change_points();
}

// One to four, among as many steps as the last episode had: from the beginning of work until all of it has ended,
// mostly one call of a collective. Before the first has ended their number is unknown: then the order of magnitude is
// drawn, too.
void PriorityPolicy::draw_change_points() {
  constexpr uint64_t kMostPoints = 4, kLargestFirst = 12;
  const uint64_t last_episode = steps_.count() - episode_begin_;
  episode_begin_ = steps_.count();
  change_points_.clear();
  for (uint64_t left = 1 + rng_.below(kMostPoints); left != 0; --left) {
    const uint64_t range = last_episode != 0 ? last_episode : uint64_t{2} << rng_.below(kLargestFirst);
    change_points_.push_back(episode_begin_ + 1 + rng_.below(range));
  }
  std::ranges::sort(change_points_, std::greater{});
  steps_.stop_at(change_points_.back());
}

void PriorityPolicy::next_change_point() {
  while (!change_points_.empty() && change_points_.back() <= steps_.count()) change_points_.pop_back();
  if (!change_points_.empty()) steps_.stop_at(change_points_.back());
}

}  // namespace fb::machine
