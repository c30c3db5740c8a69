#include "ranks/shim/cuda/streams/event_calls.h"

#include <cstring>
#include <mutex>

#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/streams/capture.h"
#include "ranks/shim/cuda/streams/event.h"
#include "ranks/shim/cuda/streams/submit.h"

namespace fb::shim {
namespace {

constexpr unsigned int kEventFlags = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;

// The host can't ask for an event of a graph that is still to run.
Error check_not_captured(Event& event) {
  const std::lock_guard lock(graph_lock());
  if (event.capture) {
    event.capture->invalidated = true;
    return cudaErrorCapturedEvent;
  }
  return check_unsafe_call();
}

}  // namespace

Expected<cudaEvent_t> create_event(unsigned int flags) {
  if (flags & ~kEventFlags) return failure(cudaErrorInvalidValue);
  // Events of several processes can't be timed.
  if ((flags & cudaEventInterprocess) && !(flags & cudaEventDisableTiming)) return failure(cudaErrorInvalidValue);
  const wire::EventCreate request{.device = static_cast<uint32_t>(thread().device),
                                  .timing = (flags & cudaEventDisableTiming) ? 0u : 1u,
                                  .shareable = (flags & cudaEventInterprocess) ? 1u : 0u};
  wire::Handle made;
  if (const Error e = call<wire::Kind::event_create>(request, &made); e != cudaSuccess) return failure(e);
  auto event = std::make_shared<Event>();
  event->id = made.handle;
  event->device = thread().device;
  event->flags = flags;
  return events().add(std::move(event));
}

Error destroy_event(cudaEvent_t handle) {
  const auto event = events().take(handle);
  if (!event) return find_event(handle).error();
  return call_on<wire::Kind::event_destroy>(event->device, {.handle = event->id});
}

Error record_event(cudaEvent_t handle, cudaStream_t stream_handle, unsigned int flags) {
  if (flags & ~static_cast<unsigned int>(cudaEventRecordExternal)) return cudaErrorInvalidValue;
  const auto event = find_event(handle);
  if (!event) return event.error();
  const auto stream = find_stream(stream_handle);
  if (!stream) return stream.error();
  if ((*event)->device != (*stream)->device) return cudaErrorInvalidResourceHandle;
  {
    const std::lock_guard lock(graph_lock());
    if (flags & cudaEventRecordExternal) {
      if (!capturing(**stream)) return cudaErrorIllegalState;
      return capture_work(**stream, EventWork{.event = *event, .record = true});
    }
    if (capturing(**stream)) return capture_event_record(**stream, **event);
    (*event)->capture = nullptr;
    (*event)->nodes.clear();
  }
  const Error e = submit(**stream, EventWork{.event = *event, .record = true});
  if (e == cudaSuccess) (*event)->recorded = true;
  return e;
}

Error query_event(cudaEvent_t handle) {
  const auto event = find_event(handle);
  if (!event) return event.error();
  if (const Error e = check_not_captured(**event); e != cudaSuccess) return e;
  return call_on<wire::Kind::event_query>((*event)->device, {.handle = (*event)->id});
}

Error wait_for_event(cudaEvent_t handle) {
  const auto event = find_event(handle);
  if (!event) return event.error();
  if (const Error e = check_not_captured(**event); e != cudaSuccess) return e;
  return call_on<wire::Kind::event_wait>((*event)->device, {.handle = (*event)->id});
}

Error elapsed_time(float* milliseconds, cudaEvent_t begin_handle, cudaEvent_t end_handle) {
  if (!milliseconds) return cudaErrorInvalidValue;
  const auto begin = find_event(begin_handle);
  if (!begin) return begin.error();
  const auto end = find_event(end_handle);
  if (!end) return end.error();
  for (const auto& event : {*begin, *end}) {
    if (!event->timing() || event->imported) return cudaErrorInvalidResourceHandle;
    const std::lock_guard lock(graph_lock());
    if (event->capture) return cudaErrorCapturedEvent;
    if (!event->recorded) return cudaErrorInvalidResourceHandle;
  }
  if ((*begin)->device != (*end)->device) return cudaErrorInvalidResourceHandle;
  wire::Elapsed elapsed;
  const Error e =
      call_on<wire::Kind::event_elapsed>((*begin)->device, {.begin = (*begin)->id, .end = (*end)->id}, &elapsed);
  if (e == cudaSuccess) *milliseconds = static_cast<float>(elapsed.milliseconds);
  return e;
}

Error export_event(cudaIpcEventHandle_t* token, cudaEvent_t handle) {
  if (!token) return cudaErrorInvalidValue;
  const auto event = find_event(handle);
  if (!event) return event.error();
  if (!((*event)->flags & cudaEventInterprocess)) return cudaErrorInvalidResourceHandle;
  wire::IpcToken reply;
  const Error e = call_on<wire::Kind::event_export>((*event)->device, {.handle = (*event)->id}, &reply);
  static_assert(sizeof reply == sizeof *token);
  if (e == cudaSuccess) std::memcpy(token, &reply, sizeof reply);
  return e;
}

Expected<cudaEvent_t> import_event(const cudaIpcEventHandle_t& token) {
  wire::IpcToken request;
  std::memcpy(request.bytes, token.reserved, sizeof request.bytes);
  wire::Handle made;
  if (const Error e = call<wire::Kind::event_import>(request, &made); e != cudaSuccess) return failure(e);
  auto event = std::make_shared<Event>();
  event->id = made.handle;
  event->device = thread().device;
  event->flags = cudaEventInterprocess | cudaEventDisableTiming;
  event->imported = true;
  return events().add(std::move(event));
}

}  // namespace fb::shim
