#pragma once

// The earliest event or warp in virtual time, events before warps. Blocks start as soon as there is room; copies are
// events. With a seed some blocks begin late, by a drawn time: the order of blocks is then no habit to rely on.

#include "common/base/rng.h"
#include "virtual_node/machine/engine/schedule/schedule_policy.h"
#include "virtual_node/machine/engine/schedule/warp_heap.h"

namespace fb::machine {

class ByTimePolicy final : public SchedulePolicy {
 public:
  // 0: nothing is drawn.
  explicit ByTimePolicy(uint64_t seed) : delays_(seed != 0), rng_(seed) {}

  bool step(EngineSteps& engine) override;
  bool has_ready_warp() const override { return !ready_.empty(); }
  void remove(const simt::Grid& grid) override { ready_.remove(grid); }
  void add(TimedEvent event) override { events_.push(std::move(event)); }
  uint64_t quantum() override { return kQuantum; }
  void on_room(EngineSteps& engine, uint32_t gpu) override;
  void on_copy(EngineSteps& engine, const simt::AsyncCopy& copy) override;
  std::optional<Time> next_event() const override { return events_.next_but_polls(); }
  Time draw_start_delay() override;
  bool is_timed() const override { return true; }

 private:
  static constexpr uint64_t kQuantum = 256;

  void insert(simt::Warp& warp) override { ready_.push(warp.clock.now, warp); }

  bool delays_;
  Rng rng_;
  WarpHeap ready_;
  EventQueue events_;
};

}  // namespace fb::machine
