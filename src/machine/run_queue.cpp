#include "machine/run_queue.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "simt/block.h"

namespace fb::machine {

RunQueue::RunQueue(Order order, uint64_t seed) : order_(order), strategy_(strategy_of(seed)), rng_(seed), party_(seed) {
  if (order == Order::chosen) steps.stop_at_each();
  if (!has(Strategy::priorities)) return;
  event_place_ = draw_place();
  copy_place_ = draw_place();
}

// --- Those who can run
// ------------------------------------------------------------------------------------------------

void RunQueue::push(simt::Warp& warp) {
  if (warp.queued) return;
  warp.queued = true;
  if (uses_heap()) {
    heap_.push_back({order_ == Order::by_time ? warp.clock.now : mark_of(warp).place, next_number_++, &warp});
    std::push_heap(heap_.begin(), heap_.end());
  } else if (splits_slow() && party_.contains(warp)) {
    slow_.push_back(&warp);
  } else {
    ready_.push_back(&warp);
  }
}

simt::Warp& RunQueue::pop() {
  simt::Warp& warp = uses_heap() ? pop_first() : pop_drawn();
  warp.queued = false;
  return warp;
}

simt::Warp& RunQueue::pop_first() {
  std::pop_heap(heap_.begin(), heap_.end());
  simt::Warp& warp = *heap_.back().warp;
  heap_.pop_back();
  return warp;
}

simt::Warp& RunQueue::take_out(std::deque<simt::Warp*>& from, size_t k) {
  simt::Warp& warp = *from[k];
  from[k] = from.front();
  from.pop_front();
  return warp;
}

simt::Warp& RunQueue::pop_drawn() {
  if (slow_.empty()) return take_out(ready_, choose(ready_.size()));
  if (ready_.empty()) {
    late_ = false;  // the others can't go on
    return take_out(slow_, choose(slow_.size()));
  }
  if (is_held_back()) return take_out(ready_, choose(ready_.size()));
  if (strategy_ == Strategy::straggler) {
    auto& from = choose(kStraggler) == 0 ? slow_ : ready_;
    return take_out(from, choose(from.size()));
  }
  const size_t k = choose(ready_.size() + slow_.size());
  return k < ready_.size() ? take_out(ready_, k) : take_out(slow_, k - ready_.size());
}

void RunQueue::remove(const simt::Grid& grid) {
  const auto is_of = [&](simt::Warp* w) {
    if (&w->block().grid() != &grid) return false;
    w->queued = false;
    return true;
  };
  std::erase_if(ready_, is_of);
  std::erase_if(slow_, is_of);
  std::erase_if(heap_, [&](const Due& d) { return is_of(d.warp); });
  std::make_heap(heap_.begin(), heap_.end());
  std::erase_if(marks_, [&](const auto& mark) { return &mark.first->block().grid() == &grid; });
}

void RunQueue::clear() {
  for (simt::Warp* warp : ready_) warp->queued = false;
  for (simt::Warp* warp : slow_) warp->queued = false;
  for (const Due& d : heap_) d.warp->queued = false;
  ready_.clear();
  slow_.clear();
  heap_.clear();
  marks_.clear();
}

uint64_t RunQueue::quantum() {
  switch (order_) {
    case Order::first_come:
    case Order::chosen:
      return kLongTurn;
    case Order::by_time:
      return kTimedTurn;
    case Order::random:
      return strategy_ == Strategy::priorities && steps.attached() ? kLongTurn : short_turn();
  }
  return 1;
}

const std::vector<simt::Warp*>& RunQueue::in_order() {
  in_order_.assign(ready_.begin(), ready_.end());
  std::ranges::sort(in_order_, {}, [](const simt::Warp* w) {
    const simt::Block& block = w->block();
    return std::tuple(block.device, block.grid().id, block.index(), w->index());
  });
  return in_order_;
}

void RunQueue::take(simt::Warp& warp) {
  std::erase(ready_, &warp);
  warp.queued = false;
}

// --- Strategies
// -------------------------------------------------------------------------------------------------------

void RunQueue::use(uint32_t device, bool nobody_works) {
  if (order_ != Order::random) return;
  if (party_.use(device) && splits_slow()) {
    const std::deque<simt::Warp*> fast = std::exchange(ready_, {}), slow = std::exchange(slow_, {});
    for (const auto* line : {&fast, &slow}) {
      for (simt::Warp* warp : *line) (party_.contains(*warp) ? slow_ : ready_).push_back(warp);
    }
  }
  if (nobody_works) begin_episode();
}

uint32_t RunQueue::slow_device() const { return has(Strategy::slow_link) ? party_.device() : kNoDevice; }

// From when work begins until all of it has ended: a call of a collective, mostly.
void RunQueue::begin_episode() {
  if (strategy_ == Strategy::priorities) draw_change_points();
  if (strategy_ != Strategy::late_device) return;
  constexpr uint64_t kLeastPower = 8, kMostPower = 18;
  late_ = true;
  done_by_others_ = 0;
  late_until_ = uint64_t{1} << (kLeastPower + rng_.below(kMostPower - kLeastPower + 1));
}

// One to four, among as many steps as the last episode had. Before the first has ended nobody knows how many there
// are: then the order of magnitude is drawn, too.
void RunQueue::draw_change_points() {
  constexpr uint64_t kMostPoints = 4, kLargestFirst = 12;
  last_episode_ = steps.count() - episode_begin_;
  episode_begin_ = steps.count();
  change_points_.clear();
  for (uint64_t left = 1 + rng_.below(kMostPoints); left != 0; --left) {
    const uint64_t range = last_episode_ != 0 ? last_episode_ : uint64_t{2} << rng_.below(kLargestFirst);
    change_points_.push_back(episode_begin_ + 1 + rng_.below(range));
  }
  std::ranges::sort(change_points_, std::greater{});
  steps.stop_at(change_points_.back());
}

RunQueue::Mark& RunQueue::mark_of(const simt::Warp& warp) {
  Mark& mark = marks_[&warp];
  if (mark.place == 0) mark.place = draw_place();
  return mark;
}

void RunQueue::next_change_point() {
  while (!change_points_.empty() && change_points_.back() <= steps.count()) change_points_.pop_back();
  if (!change_points_.empty()) steps.stop_at(change_points_.back());
}

void RunQueue::note_turn(simt::Warp& warp, uint64_t executed, simt::Stop stop) {
  if (late_ && !party_.contains(warp)) done_by_others_ += executed;
  if (!has(Strategy::priorities)) return;
  if (!steps.attached()) steps.take_turn();
  const bool changes = steps.take_due();
  if (changes) next_change_point();
  if (stop == simt::Stop::finished) {
    marks_.erase(&warp);
    return;
  }
  Mark& mark = mark_of(warp);
  // Nobody may wait for ever behind one who only looks and never sleeps.
  mark.turns_awake = stop == simt::Stop::quantum ? mark.turns_awake + 1 : 0;
  if (!changes && mark.turns_awake < kMostTurnsAwake) return;
  mark = {fallen_++, 0};
}

bool RunQueue::starts_block() { return has(Strategy::priorities) || choose(4) >= 2; }

// Every event and every copy has a priority of its own.
void RunQueue::note_other() {
  done_by_others_ += kLikeInstructions;
  if (!has(Strategy::priorities)) return;
  event_place_ = draw_place();
  copy_place_ = draw_place();
}

bool RunQueue::takes_event() { return has(Strategy::priorities) ? comes_before_warps(event_place_) : choose(4) == 1; }

bool RunQueue::takes_copy() { return has(Strategy::priorities) ? comes_before_warps(copy_place_) : choose(4) == 1; }

}  // namespace fb::machine
