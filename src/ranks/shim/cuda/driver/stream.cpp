#include "ranks/shim/cuda/streams/stream.h"

#include "ranks/shim/cuda/driver/driver.h"
#include "ranks/shim/cuda/streams/event.h"
#include "ranks/shim/cuda/streams/event_calls.h"
#include "ranks/shim/cuda/streams/stream_calls.h"
#include "ranks/shim/cuda/streams/submit.h"
#include "ranks/shim/cuda/streams/work.h"

using namespace fb::shim;

FB_API CUresult cuStreamCreate(CUstream* stream, unsigned int flags) {
  return cuStreamCreateWithPriority(stream, flags, 0);
}

FB_API CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int priority) {
  return in_context([&] {
    if (!stream) return cudaErrorInvalidValue;
    return put(stream, create_stream(flags, priority));
  });
}

FB_API CUresult cuStreamDestroy(CUstream stream) {
  return in_context([&] { return destroy_stream(stream); });
}

FB_API CUresult cuStreamSynchronize(CUstream stream) {
  return in_context([&] { return wait_for_stream(stream); });
}

FB_API CUresult cuStreamQuery(CUstream stream) {
  return in_context([&] { return query_stream(stream); });
}

FB_API CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
  return in_context([&] { return stream_wait_event(stream, event, flags); });
}

// Both APIs number and lay out attributes alike.
static_assert(sizeof(CUstreamAttrValue) == sizeof(cudaLaunchAttributeValue));
FB_API CUresult cuStreamSetAttribute(CUstream stream, CUstreamAttrID id, const CUstreamAttrValue* value) {
  return in_context([&] {
    return set_stream_attribute(stream, static_cast<cudaLaunchAttributeID>(id),
                                reinterpret_cast<const cudaLaunchAttributeValue*>(value));
  });
}
FB_API CUresult cuStreamGetAttribute(CUstream stream, CUstreamAttrID id, CUstreamAttrValue* value) {
  return in_context([&] {
    return get_stream_attribute(stream, static_cast<cudaLaunchAttributeID>(id),
                                reinterpret_cast<cudaLaunchAttributeValue*>(value));
  });
}
FB_API CUresult cuStreamCopyAttributes(CUstream to, CUstream from) {
  return in_context([&] { return copy_stream_attributes(to, from); });
}

FB_API CUresult cuStreamGetPriority(CUstream stream, int* priority) {
  return in_context([&] {
    const auto found = find_stream(stream);
    if (!found) return found.error();
    if (!priority) return cudaErrorInvalidValue;
    *priority = (*found)->priority;
    return cudaSuccess;
  });
}

FB_API CUresult cuStreamGetFlags(CUstream stream, unsigned int* flags) {
  return in_context([&] {
    const auto found = find_stream(stream);
    if (!found) return found.error();
    if (!flags) return cudaErrorInvalidValue;
    *flags = (*found)->flags;
    return cudaSuccess;
  });
}

FB_API CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
  return in_context([&] {
    const auto found = find_stream(stream);
    if (!found) return found.error();
    if (!id) return cudaErrorInvalidValue;
    *id = (*found)->number;
    return cudaSuccess;
  });
}

FB_API CUresult cuStreamGetDevice(CUstream stream, CUdevice* device) {
  return in_context([&] {
    const auto found = find_stream(stream);
    if (!found) return found.error();
    if (!device) return cudaErrorInvalidValue;
    *device = (*found)->device;
    return cudaSuccess;
  });
}

FB_API CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  return in_context([&] {
    const auto found = find_stream(stream);
    if (!found) return found.error();
    if (!context) return cudaErrorInvalidValue;
    *context = context_of((*found)->device);
    return cudaSuccess;
  });
}

FB_API CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void* data, unsigned int flags) {
  return in_context([&] {
    // The two callbacks differ in the name of the error's type alone.
    return as_runtime(
        [&] { return cudaStreamAddCallback(stream, reinterpret_cast<cudaStreamCallback_t>(callback), data, flags); });
  });
}

FB_API CUresult cuStreamAttachMemAsync(CUstream stream, CUdeviceptr pointer, size_t bytes, unsigned int flags) {
  return in_context(
      [&] { return as_runtime([&] { return cudaStreamAttachMemAsync(stream, pointer_of(pointer), bytes, flags); }); });
}

FB_API CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  return in_context([&] {
    if (!function) return cudaErrorInvalidValue;
    const auto found = find_stream(stream);
    return found ? submit(**found, HostWork{.function = function, .data = data}) : found.error();
  });
}

// Events

FB_API CUresult cuEventCreate(CUevent* event, unsigned int flags) {
  return in_context([&] {
    if (!event) return cudaErrorInvalidValue;
    return put(event, create_event(flags));
  });
}

FB_API CUresult cuEventDestroy(CUevent event) {
  return in_context([&] { return destroy_event(event); });
}

FB_API CUresult cuEventRecord(CUevent event, CUstream stream) {
  return in_context([&] { return record_event(event, stream, 0); });
}

FB_API CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags) {
  return in_context([&] { return record_event(event, stream, flags); });
}

FB_API CUresult cuEventQuery(CUevent event) {
  return in_context([&] { return query_event(event); });
}

FB_API CUresult cuEventSynchronize(CUevent event) {
  return in_context([&] { return wait_for_event(event); });
}

FB_API CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent stop) {
  return in_context([&] { return elapsed_time(milliseconds, start, stop); });
}

FB_API CUresult cuIpcGetEventHandle(CUipcEventHandle* handle, CUevent event) {
  return in_context([&] {
    static_assert(sizeof(CUipcEventHandle) == sizeof(cudaIpcEventHandle_t));
    return export_event(reinterpret_cast<cudaIpcEventHandle_t*>(handle), event);
  });
}

FB_API CUresult cuIpcOpenEventHandle(CUevent* event, CUipcEventHandle handle) {
  return in_context([&] {
    if (!event) return cudaErrorInvalidValue;
    return put(event, import_event(*reinterpret_cast<const cudaIpcEventHandle_t*>(&handle)));
  });
}
