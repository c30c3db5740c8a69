#include "virtual_node/machine/engine/schedule/event_queue.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace fb::machine {
namespace {

// std heaps have the largest element first: the earliest event is the largest.
bool is_later(const TimedEvent& a, const TimedEvent& b) {
  return std::tie(a.at, a.tie, a.number) > std::tie(b.at, b.tie, b.number);
}

}  // namespace

void EventQueue::push(TimedEvent event) {
  heap_.push_back(std::move(event));
  std::ranges::push_heap(heap_, is_later);
}

TimedEvent EventQueue::pop() {
  std::ranges::pop_heap(heap_, is_later);
  TimedEvent event = std::move(heap_.back());
  heap_.pop_back();
  return event;
}

std::optional<Time> EventQueue::next_but_polls() const {
  std::optional<Time> next;
  for (const TimedEvent& event : heap_) {
    if (event.about.kind != EventAbout::Kind::poll && (!next || event.at < *next) && !is_void(event)) next = event.at;
  }
  return next;
}

std::span<const TimedEvent> EventQueue::sorted() {
  std::ranges::sort(heap_, [](const TimedEvent& a, const TimedEvent& b) { return is_later(b, a); });
  return heap_;
}

TimedEvent EventQueue::take(size_t k) {
  TimedEvent event = std::move(heap_[k]);
  heap_.erase(heap_.begin() + static_cast<std::ptrdiff_t>(k));
  return event;
}

std::vector<TimedEvent> EventQueue::drain() { return std::exchange(heap_, {}); }

}  // namespace fb::machine
