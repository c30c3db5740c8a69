#pragma once

// PCT (Burckhardt et al., ASPLOS 2010): the ready warp of the highest priority runs; priorities are drawn, and the
// running warp falls to the lowest at a few synchronisation steps that are drawn too. Every event and every copy has a
// drawn priority of its own.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "common/base/rng.h"
#include "virtual_node/machine/engine/schedule/sync_steps.h"
#include "virtual_node/machine/engine/schedule/untimed_policy.h"
#include "virtual_node/machine/engine/schedule/warp_heap.h"

namespace fb::machine {

class PriorityPolicy final : public UntimedPolicy {
 public:
  PriorityPolicy(uint64_t seed, SyncSteps& steps);

  bool has_ready_warp() const override { return !ready_.empty(); }
  void remove(const simt::Grid& grid) override;
  void add(TimedEvent event) override { events_.push(std::move(event)); }
  uint64_t quantum() override;
  void on_quantum_end(const simt::Warp& warp, uint64_t executed, simt::Stop stop) override;
  void on_event_or_copy() override { draw_other_priorities(); }
  void on_device_used(uint32_t device, bool idle) override;

 private:
  static constexpr uint32_t kMostQuantaAwake = 64;  // until a warp that never sleeps falls to the lowest priority
  static constexpr uint64_t kFallen = uint64_t{1} << 63;

  struct WarpState {
    uint64_t priority = 0;  // the smallest runs first; 0: not drawn yet
    uint32_t quanta_awake = 0;
  };

  void insert(simt::Warp& warp) override { ready_.push(state_of(warp).priority, warp); }
  simt::Warp& pop() override { return ready_.pop(); }
  bool starts_block() override { return true; }
  bool takes_event() override { return precedes_warps(event_priority_); }
  bool takes_copy() override { return precedes_warps(copy_priority_); }
  EventQueue* next_events(bool /*idle*/) override { return events_.empty() ? nullptr : &events_; }
  std::optional<size_t> next_copy(const Copies& copies, bool /*idle*/) override { return rng_.below(copies.size()); }

  bool precedes_warps(uint64_t priority) const { return !ready_.empty() && priority < ready_.front_key(); }
  uint64_t draw_priority() { return 1 + rng_.below(kFallen - 1); }
  void draw_other_priorities();
  void draw_change_points();
  void next_change_point();
  WarpState& state_of(const simt::Warp& warp);

  Rng rng_;
  SyncSteps& steps_;
  WarpHeap ready_;
  EventQueue events_;
  std::unordered_map<const simt::Warp*, WarpState> states_;
  uint64_t next_fallen_ = kFallen;
  uint64_t event_priority_ = 0, copy_priority_ = 0;
  std::vector<uint64_t> change_points_;  // counts of steps, the next one last
  uint64_t episode_begin_ = 0;           // count of steps
};

}  // namespace fb::machine
