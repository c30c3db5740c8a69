#pragma once

// Warps in order of arrival, with long quanta; nothing is drawn. The fastest policy.

#include <utility>

#include "virtual_node/machine/engine/schedule/untimed_policy.h"
#include "virtual_node/machine/engine/schedule/warp_list.h"

namespace fb::machine {

class FirstComePolicy final : public UntimedPolicy {
 public:
  bool has_ready_warp() const override { return !ready_.empty(); }
  void remove(const simt::Grid& grid) override { ready_.remove(grid); }
  void add(TimedEvent event) override { events_.push(std::move(event)); }
  uint64_t quantum() override { return kLongQuantum; }

 private:
  void insert(simt::Warp& warp) override { ready_.push(warp); }
  simt::Warp& pop() override { return ready_.take(0); }
  EventQueue* next_events(bool /*idle*/) override { return events_.empty() ? nullptr : &events_; }
  std::optional<size_t> next_copy(const Copies& /*copies*/, bool /*idle*/) override { return 0; }

  WarpList ready_;
  EventQueue events_;
};

}  // namespace fb::machine
