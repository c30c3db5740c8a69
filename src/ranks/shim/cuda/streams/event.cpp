#include "ranks/shim/cuda/streams/event.h"

#include "ranks/shim/cuda/core/session.h"

namespace fb::shim {

Registry<cudaEvent_t, Event>& events() {
  static auto* const all = new Registry<cudaEvent_t, Event>;
  return *all;
}

Expected<EventPtr> find_event(cudaEvent_t handle) {
  if (auto event = events().find(handle)) return event;
  if (const Error e = Session::get().connect(); e != cudaSuccess) return failure(e);
  return failure(cudaErrorInvalidResourceHandle);
}

}  // namespace fb::shim
