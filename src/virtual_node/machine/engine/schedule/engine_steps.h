#pragma once

// What a policy has the engine do, and what it looks at to choose.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "virtual_node/machine/engine/schedule/event_queue.h"
#include "virtual_node/simt/async/async_copy.h"
#include "virtual_node/simt/warp.h"

namespace fb::machine {

class EngineSteps {
 public:
  virtual Time now() const = 0;

  // Of a warp that has been taken out of the policy's ready warps.
  virtual void run_quantum(simt::Warp& warp) = 0;
  virtual void fire(const TimedEvent& event) = 0;

  // Asynchronous copies that have been issued and not performed, oldest first.
  using Copies = std::deque<std::unique_ptr<simt::AsyncCopy>>;
  virtual const Copies& copies() const = 0;
  virtual void perform_copy(size_t k) = 0;
  // By an event at the time at which the copy arrives. It stays among copies() until then, where a retiring block or a
  // fault finds it; the event performs it if it is still there.
  virtual void perform_on_arrival(const simt::AsyncCopy& copy) = 0;

  // Starts as many blocks as there is room for, on one GPU or on all.
  virtual void start_all_blocks(uint32_t gpu) = 0;
  virtual void start_all_blocks() = 0;
  // At most one block (or cluster) on each GPU. False: none was started.
  virtual bool start_a_block_on_each_gpu() = 0;

  // Every so often warps that poll must make room for blocks, events and copies, and warps that sleep until a time must
  // look at the clock.
  virtual bool is_poll_due() const = 0;
  virtual void poll_clock_readers() = 0;

 protected:
  ~EngineSteps() = default;
};

}  // namespace fb::machine
