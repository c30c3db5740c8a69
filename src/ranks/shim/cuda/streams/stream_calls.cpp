#include "ranks/shim/cuda/streams/stream_calls.h"

#include <mutex>

#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/streams/capture.h"
#include "ranks/shim/cuda/streams/event.h"
#include "ranks/shim/cuda/streams/stream.h"
#include "ranks/shim/cuda/streams/submit.h"

namespace fb::shim {

Error destroy_stream(cudaStream_t handle) {
  if (!handle || handle == cudaStreamLegacy || handle == cudaStreamPerThread) return cudaErrorInvalidResourceHandle;
  const auto stream = streams().take(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  leave_capture(*stream);
  return call_on<wire::Kind::stream_destroy>(stream->device, {.handle = stream->id});
}

Error wait_for_stream(cudaStream_t handle) {
  const auto stream = find_stream(handle);
  if (!stream) return stream.error();
  if (capturing(**stream)) return refuse_captured(**stream);
  if (const Error e = check_default_stream(**stream); e != cudaSuccess) return e;
  if (const Error e = check_unsafe_call(); e != cudaSuccess) return e;
  return call_on<wire::Kind::stream_wait>((*stream)->device, (*stream)->ref());
}

Error query_stream(cudaStream_t handle) {
  const auto stream = find_stream(handle);
  if (!stream) return stream.error();
  if (capturing(**stream)) return refuse_captured(**stream);
  if (const Error e = check_default_stream(**stream); e != cudaSuccess) return e;
  if (const Error e = check_unsafe_call(); e != cudaSuccess) return e;
  return call_on<wire::Kind::stream_query>((*stream)->device, (*stream)->ref());
}

Error stream_wait_event(cudaStream_t handle, cudaEvent_t event_handle, unsigned int flags) {
  if (flags & ~static_cast<unsigned int>(cudaEventWaitExternal)) return cudaErrorInvalidValue;
  const auto stream = find_stream(handle);
  if (!stream) return stream.error();
  const auto event = find_event(event_handle);
  if (!event) return event.error();
  {
    const std::lock_guard lock(graph_lock());
    if (flags & cudaEventWaitExternal) {
      // Only a node can wait for what is outside of the graph.
      if (!capturing(**stream)) return cudaErrorIllegalState;
      return capture_work(**stream, EventWork{.event = *event, .record = false});
    }
    if (capturing(**stream) || (*event)->capture) return capture_event_wait(*stream, **event);
  }
  return submit(**stream, EventWork{.event = *event, .record = false});
}

Error wait_for_device(int device) {
  if (const Error e = check_unsafe_call(); e != cudaSuccess) return e;
  return call_on<wire::Kind::device_wait>(device, {.device = static_cast<uint32_t>(device)});
}

}  // namespace fb::shim
