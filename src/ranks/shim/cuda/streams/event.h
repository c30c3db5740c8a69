#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <memory>
#include <vector>

#include "common/wire/messages.h"
#include "ranks/shim/cuda/core/error.h"
#include "ranks/shim/cuda/core/registry.h"
#include "ranks/shim/cuda/streams/stream.h"

namespace fb::shim {

struct Event {
  wire::Id id = 0;
  int device = 0;
  unsigned int flags = 0;
  bool imported = false;
  std::atomic<bool> recorded = false;

  // Where it was recorded last, when that was a capturing stream (under graph_lock()).
  std::shared_ptr<Capture> capture;
  std::vector<std::shared_ptr<GraphNode>> nodes;

  bool timing() const { return (flags & cudaEventDisableTiming) == 0; }
};
using EventPtr = std::shared_ptr<Event>;

Registry<cudaEvent_t, Event>& events();

Expected<EventPtr> find_event(cudaEvent_t handle);

}  // namespace fb::shim
