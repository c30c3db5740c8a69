#pragma once

// Follows a list of choices. A warp runs from one synchronisation step to the next; events that touch no memory fire at
// once, since no agent can tell when they did.

#include <cstdint>
#include <functional>
#include <vector>

#include "virtual_node/machine/engine/schedule/choices.h"
#include "virtual_node/machine/engine/schedule/schedule_policy.h"
#include "virtual_node/machine/engine/schedule/sync_steps.h"
#include "virtual_node/machine/engine/schedule/warp_list.h"

namespace fb::machine {

class ChosenPolicy final : public SchedulePolicy {
 public:
  // `choices`: the first ones; after them always the first option.
  ChosenPolicy(const std::vector<uint32_t>& choices, SyncSteps& steps);

  bool step(EngineSteps& engine) override;
  bool has_ready_warp() const override { return !ready_.empty(); }
  void remove(const simt::Grid& grid) override;
  void add(TimedEvent event) override;
  uint64_t quantum() override { return kLongQuantum; }
  void on_quantum_end(const simt::Warp& warp, uint64_t executed, simt::Stop stop) override;
  std::vector<record::Choice> choices() const override { return choices_.taken(); }

 private:
  // Quanta of one warp without any other agent, until others must be let in: it may wait for them in a loop that does
  // not look like waiting.
  static constexpr uint32_t kMostQuantaAlone = 1000;

  using Option = std::function<void()>;

  void insert(simt::Warp& warp) override { ready_.push(warp); }
  bool choose_next(EngineSteps& engine);
  void add_warps(EngineSteps& engine, bool goes_on, std::vector<Option>& options);
  void add_warp(EngineSteps& engine, simt::Warp& warp, std::vector<Option>& options);
  void add_events(EngineSteps& engine, std::vector<Option>& options);
  void add_copies(EngineSteps& engine, std::vector<Option>& options);

  Choices choices_;
  SyncSteps& steps_;
  WarpList ready_;
  EventQueue bookkeeping_, memory_, polls_;
  simt::Warp* current_ = nullptr;  // the warp that ran last, if it can go on
  uint32_t quanta_of_current_ = 0;
  bool at_choice_ = false;  // current_ is at a step where others may be chosen
};

}  // namespace fb::machine
