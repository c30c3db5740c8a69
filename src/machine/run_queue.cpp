#include "machine/run_queue.h"

#include <algorithm>

#include "simt/block.h"

namespace fb::machine {

void RunQueue::push(simt::Warp& warp) {
  if (warp.queued) return;
  warp.queued = true;
  if (order_ == Order::by_time) {
    heap_.push_back({warp.clock.now, next_number_++, &warp});
    std::push_heap(heap_.begin(), heap_.end());
  } else {
    ready_.push_back(&warp);
  }
}

simt::Warp& RunQueue::pop() {
  simt::Warp* warp = nullptr;
  if (order_ == Order::by_time) {
    std::pop_heap(heap_.begin(), heap_.end());
    warp = heap_.back().warp;
    heap_.pop_back();
  } else {
    const size_t k = choose(ready_.size());
    warp = ready_[k];
    ready_[k] = ready_.front();
    ready_.pop_front();
  }
  warp->queued = false;
  return *warp;
}

void RunQueue::remove(const simt::Grid& grid) {
  const auto is_of = [&](simt::Warp* w) {
    if (&w->block().grid() != &grid) return false;
    w->queued = false;
    return true;
  };
  std::erase_if(ready_, is_of);
  std::erase_if(heap_, [&](const Due& d) { return is_of(d.warp); });
  std::make_heap(heap_.begin(), heap_.end());
}

void RunQueue::clear() {
  for (simt::Warp* warp : ready_) warp->queued = false;
  for (const Due& d : heap_) d.warp->queued = false;
  ready_.clear();
  heap_.clear();
}

uint64_t RunQueue::quantum() {
  switch (order_) {
    case Order::first_come:
      return kLongTurn;
    case Order::by_time:
      return kTimedTurn;
    case Order::random:
      return 1 + rng_.below(uint64_t{1} << rng_.below(kLargestPower + 1));
  }
  return 1;
}

}  // namespace fb::machine
