#include "ranks/shim/cuda/streams/event.h"

#include "ranks/shim/cuda/core/error_report.h"
#include "ranks/shim/cuda/core/export.h"
#include "ranks/shim/cuda/streams/event_calls.h"

namespace shim = fb::shim;
using shim::record;

namespace {

cudaError_t give(cudaEvent_t* event, const shim::Expected<cudaEvent_t>& made) {
  if (!made) return made.error();
  *event = *made;
  return cudaSuccess;
}

}  // namespace

FB_API cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return record(event ? give(event, shim::create_event(cudaEventDefault)) : cudaErrorInvalidValue);
}
FB_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return record(event ? give(event, shim::create_event(flags)) : cudaErrorInvalidValue);
}
FB_API cudaError_t cudaEventDestroy(cudaEvent_t event) { return record(shim::destroy_event(event)); }
FB_API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return record(shim::record_event(event, stream, cudaEventRecordDefault));
}
FB_API cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
  return record(shim::record_event(event, stream, flags));
}
FB_API cudaError_t cudaEventQuery(cudaEvent_t event) { return record(shim::query_event(event)); }
FB_API cudaError_t cudaEventSynchronize(cudaEvent_t event) { return record(shim::wait_for_event(event)); }
FB_API cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop) {
  return record(shim::elapsed_time(milliseconds, start, stop));
}
FB_API cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event) {
  return record(shim::export_event(handle, event));
}
FB_API cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle) {
  return record(event ? give(event, shim::import_event(handle)) : cudaErrorInvalidValue);
}
