#pragma once

// Drawn from the seed: the strategies uniform, late device, straggler and slow link (strategy.h).

#include <cstdint>

#include "common/base/rng.h"
#include "virtual_node/machine/engine/schedule/strategy.h"
#include "virtual_node/machine/engine/schedule/untimed_policy.h"
#include "virtual_node/machine/engine/schedule/warp_list.h"

namespace fb::machine {

class RandomPolicy final : public UntimedPolicy {
 public:
  explicit RandomPolicy(uint64_t seed) : strategy_(strategy_of(seed)), rng_(seed), slow_party_(seed) {}

  bool has_ready_warp() const override { return !ready_.empty() || !slow_.empty() || !polling_.empty(); }
  void remove(const simt::Grid& grid) override;
  void add(TimedEvent event) override;
  uint64_t quantum() override { return draw_quantum(rng_); }
  void on_quantum_end(const simt::Warp& warp, uint64_t executed, simt::Stop stop) override;
  void on_event_or_copy() override { done_by_others_ += kLikeInstructions; }
  void on_only_polls() override { late_ = false; }
  void on_device_used(uint32_t device, bool idle) override;

 private:
  static constexpr uint64_t kStraggler = 16;         // draws for one quantum of the straggler
  static constexpr uint64_t kSlowLink = 64;          // steps for one of the slow link, while others go on
  static constexpr uint64_t kPolling = 8;            // draws for one quantum of a warp that polls, while others do not
  static constexpr uint64_t kLikeInstructions = 16;  // weight of an event or copy while the late device is held back

  void insert(simt::Warp& warp) override;
  bool is_idle() const override { return ready_.empty() && (slow_.empty() || is_held_back()); }
  simt::Warp& pop() override;
  bool starts_block() override { return rng_.below(4) >= 2; }
  bool takes_event() override { return rng_.below(4) == 1; }
  bool takes_copy() override { return rng_.below(4) == 1; }
  EventQueue* next_events(bool idle) override;
  std::optional<size_t> next_copy(const Copies& copies, bool idle) override;

  bool splits_slow() const { return strategy_ == Strategy::late_device || strategy_ == Strategy::straggler; }
  bool is_held_back() const { return late_ && done_by_others_ < late_until_; }
  // kNoDevice unless the strategy is slow link.
  uint32_t slow_device() const { return strategy_ == Strategy::slow_link ? slow_party_.device() : kNoDevice; }
  // Whether work of the slow device is done now, although others can go on.
  bool takes_slow() { return rng_.below(kSlowLink) == 0; }
  simt::Warp& draw_from(WarpList& list) { return list.take(rng_.below(list.size())); }
  void sort_warps();
  void sort_events();

  Strategy strategy_;
  Rng rng_;
  SlowParty slow_party_;
  WarpList ready_;
  WarpList polling_;  // warps that poll, of either party: they come last
  WarpList slow_;     // late device, straggler: warps of the slow party
  EventQueue events_;
  EventQueue slow_events_;  // slow link: events of the slow device

  // late device
  bool late_ = false;
  uint64_t late_until_ = 0, done_by_others_ = 0;
};

}  // namespace fb::machine
