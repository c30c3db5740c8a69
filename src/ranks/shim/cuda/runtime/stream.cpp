#include "ranks/shim/cuda/streams/stream.h"

#include "ranks/shim/cuda/core/callbacks.h"
#include "ranks/shim/cuda/core/error_report.h"
#include "ranks/shim/cuda/core/export.h"
#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/streams/capture.h"
#include "ranks/shim/cuda/streams/stream_calls.h"
#include "ranks/shim/cuda/streams/submit.h"
#include "ranks/shim/cuda/streams/work.h"

namespace shim = fb::shim;
using shim::record;

namespace {

cudaError_t create(cudaStream_t* stream, unsigned int flags, int priority) {
  if (!stream) return cudaErrorInvalidValue;
  const auto made = shim::create_stream(flags, priority);
  if (!made) return made.error();
  *stream = *made;
  return cudaSuccess;
}

// Tells one thing of a stream.
template <class T>
cudaError_t tell(cudaStream_t handle, T* into, auto&& what) {
  if (!into) return cudaErrorInvalidValue;
  const auto stream = shim::find_stream(handle);
  if (!stream) return stream.error();
  *into = static_cast<T>(what(**stream));
  return cudaSuccess;
}

}  // namespace

FB_API cudaError_t cudaStreamCreate(cudaStream_t* stream) { return record(create(stream, cudaStreamDefault, 0)); }
FB_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return record(create(stream, flags, 0));
}
FB_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority) {
  return record(create(stream, flags, priority));
}
FB_API cudaError_t cudaStreamDestroy(cudaStream_t stream) { return record(shim::destroy_stream(stream)); }
FB_API cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return record(shim::wait_for_stream(stream)); }
FB_API cudaError_t cudaStreamQuery(cudaStream_t stream) { return record(shim::query_stream(stream)); }
FB_API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  return record(shim::stream_wait_event(stream, event, flags));
}

FB_API cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaLaunchAttributeID id,
                                          const cudaLaunchAttributeValue* value) {
  return record(shim::set_stream_attribute(stream, id, value));
}
FB_API cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaLaunchAttributeID id,
                                          cudaLaunchAttributeValue* value) {
  return record(shim::get_stream_attribute(stream, id, value));
}
FB_API cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
  return record(shim::copy_stream_attributes(to, from));
}

FB_API cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return record(tell(stream, priority, [](const shim::Stream& s) { return s.priority; }));
}
FB_API cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags) {
  return record(tell(stream, flags, [](const shim::Stream& s) { return s.flags; }));
}
FB_API cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  return record(tell(stream, id, [](const shim::Stream& s) { return s.number; }));
}
FB_API cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  return record(tell(stream, device, [](const shim::Stream& s) { return s.device; }));
}

FB_API cudaError_t cudaStreamAddCallback(cudaStream_t handle, cudaStreamCallback_t callback, void* data,
                                         unsigned int flags) {
  if (!callback || flags != 0) return record(cudaErrorInvalidValue);
  const auto stream = shim::find_stream(handle);
  if (!stream) return record(stream.error());
  if (shim::capturing(**stream)) return record(shim::refuse_captured(**stream));
  if (const auto e = shim::check_default_stream(**stream); e != cudaSuccess) return record(e);
  const int device = (*stream)->device;
  const auto run = [=] { callback(handle, shim::Session::get().sticky(device), data); };
  const auto number = shim::add_callback(run, true);
  if (!number) return record(number.error());
  return record(shim::call_on<fb::wire::Kind::callback>(device, {.stream = (*stream)->ref(), .callback = *number}));
}

FB_API cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* data) {
  if (!function) return record(cudaErrorInvalidValue);
  const auto stream = shim::find_stream(handle);
  if (!stream) return record(stream.error());
  return record(shim::submit(**stream, shim::HostWork{.function = function, .data = data}));
}

// Managed memory is visible to all streams at all times here.
FB_API cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer, size_t, unsigned int flags) {
  if (!pointer || flags > cudaMemAttachSingle) return record(cudaErrorInvalidValue);
  const auto found = shim::find_stream(stream);
  return record(found ? cudaSuccess : found.error());
}
