#pragma once

// The order in which warps, events and asynchronous copies act. A policy owns the ready warps, the pending events, and
// everything that is drawn from the seed; it selects what is next, and Engine performs it. One file a policy.

#include <cstdint>
#include <optional>
#include <vector>

#include "common/record/run_record.h"
#include "virtual_node/machine/engine/schedule/engine_steps.h"
#include "virtual_node/machine/engine/schedule/event_queue.h"
#include "virtual_node/simt/async/async_copy.h"
#include "virtual_node/simt/block.h"
#include "virtual_node/simt/warp.h"

namespace fb::machine {

enum class ScheduleKind : uint8_t {
  first_come,  // long quanta in order of arrival, nothing drawn: the fastest
  random,      // drawn from the seed, by the seed's strategy (strategy.h)
  by_time,     // the earliest in virtual time; with a seed, some blocks begin late
  chosen,      // as a list of choices says (choices.h)
};

class SchedulePolicy {
 public:
  virtual ~SchedulePolicy() = default;

  // Has the engine perform one event, one copy or one quantum of a warp. False: nothing is left to do.
  virtual bool step(EngineSteps& engine) = 0;

  // Adds a ready warp. One that is queued already keeps its position.
  void push(simt::Warp& warp) {
    if (warp.queued) return;
    warp.queued = true;
    insert(warp);
  }
  virtual bool has_ready_warp() const = 0;
  // Takes out all warps of a grid.
  virtual void remove(const simt::Grid& grid) = 0;
  virtual void add(TimedEvent event) = 0;

  // The most instructions of the next quantum.
  virtual uint64_t quantum() = 0;
  // After a quantum, before the warp is pushed again.
  virtual void on_quantum_end(const simt::Warp& /*warp*/, uint64_t /*executed*/, simt::Stop /*stop*/) {}
  // Before an event or a copy is performed.
  virtual void on_event_or_copy() {}
  // All that has run for a while are polls: whatever is held back may be what they wait for.
  virtual void on_only_polls() {}
  // Work has come for a device. `idle`: no grid was running.
  virtual void on_device_used(uint32_t /*device*/, bool /*idle*/) {}
  // A GPU may have room for blocks: after a launch, or the end of a block or grid.
  virtual void on_room(EngineSteps& /*engine*/, uint32_t /*gpu*/) {}
  // A copy has been issued. It stays among EngineSteps::copies() until it is performed.
  virtual void on_copy(EngineSteps& /*engine*/, const simt::AsyncCopy& /*copy*/) {}

  // When the next event comes that is no answer to a poll, where warps that poll must wait for its time.
  virtual std::optional<Time> next_event() const { return std::nullopt; }
  // How much later than it could a block begins.
  virtual Time draw_start_delay() { return 0; }

  // Whether the engine's clock is that of the earliest agent. Otherwise it counts the issue time of all quanta.
  virtual bool is_timed() const { return false; }
  // All choices there were.
  virtual std::vector<record::Choice> choices() const { return {}; }

 protected:
  static constexpr uint64_t kLongQuantum = 16384;

 private:
  virtual void insert(simt::Warp& warp) = 0;
};

}  // namespace fb::machine
