#include "ranks/shim/cuda/streams/stream.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "ranks/shim/cuda/core/session.h"

namespace fb::shim {
namespace {

unsigned long long next_number() {
  static std::atomic<unsigned long long> next{wire::kMostDevices + 1};
  return next++;
}

// The default stream of a device.
StreamPtr legacy_stream(int device) {
  static std::mutex mutex;
  static auto* const made = new std::vector<StreamPtr>(wire::kMostDevices);
  const std::lock_guard lock(mutex);
  StreamPtr& stream = (*made)[static_cast<size_t>(device)];
  if (!stream) {
    stream = std::make_shared<Stream>();
    stream->device = device;
    stream->number = static_cast<unsigned long long>(device) + 1;
  }
  return stream;
}

Expected<StreamPtr> make_stream(int device, unsigned int flags, int priority) {
  const wire::StreamCreate request{.device = static_cast<uint32_t>(device),
                                   .non_blocking = flags & cudaStreamNonBlocking,
                                   .priority = std::clamp(priority, kGreatestPriority, kLeastPriority)};
  wire::Handle made;
  if (const Error e = call_on<wire::Kind::stream_create>(device, request, &made); e != cudaSuccess) return failure(e);
  auto stream = std::make_shared<Stream>();
  stream->id = made.handle;
  stream->device = device;
  stream->flags = flags;
  stream->priority = request.priority;
  stream->number = next_number();
  return stream;
}

Expected<StreamPtr> thread_stream() {
  // Connecting forgets the streams of a parent process.
  if (const Error e = Session::get().connect(); e != cudaSuccess) return failure(e);
  ThreadState& mine = thread();
  StreamPtr& stream = mine.default_streams[mine.device];
  if (!stream) {
    auto made = make_stream(mine.device, cudaStreamDefault, 0);
    if (!made) return made;
    stream = *made;
  }
  return stream;
}

}  // namespace

Registry<cudaStream_t, Stream>& streams() {
  static auto* const all = new Registry<cudaStream_t, Stream>;
  return *all;
}

Expected<StreamPtr> find_stream(cudaStream_t handle) {
  if (!handle && thread().own_default_stream) handle = cudaStreamPerThread;
  if (!handle || handle == cudaStreamLegacy) {
    if (const Error e = Session::get().connect(); e != cudaSuccess) return failure(e);
    return legacy_stream(thread().device);
  }
  if (handle == cudaStreamPerThread) return thread_stream();
  if (auto stream = streams().find(handle)) return stream;
  // Without a machine that is what the program should hear of.
  if (const Error e = Session::get().connect(); e != cudaSuccess) return failure(e);
  return failure(cudaErrorInvalidResourceHandle);
}

Expected<cudaStream_t> create_stream(unsigned int flags, int priority) {
  if (flags & ~static_cast<unsigned int>(cudaStreamNonBlocking)) return failure(cudaErrorInvalidValue);
  if (const Error e = check_device(thread().device); e != cudaSuccess) return failure(e);
  auto stream = make_stream(thread().device, flags, priority);
  if (!stream) return failure(stream.error());
  return streams().add(*stream);
}

namespace {

bool is_stream_attribute(cudaLaunchAttributeID id) {
  return id == cudaLaunchAttributeAccessPolicyWindow || id == cudaLaunchAttributeSynchronizationPolicy ||
         id == cudaLaunchAttributePriority || id == cudaLaunchAttributeMemSyncDomainMap ||
         id == cudaLaunchAttributeMemSyncDomain;
}

bool is_possible(cudaLaunchAttributeID id, const cudaLaunchAttributeValue& value) {
  if (id != cudaLaunchAttributeAccessPolicyWindow) return true;
  const auto& window = value.accessPolicyWindow;
  return window.hitRatio >= 0 && window.hitRatio <= 1 && window.missProp != cudaAccessPropertyPersisting;
}

}  // namespace

Error set_stream_attribute(cudaStream_t handle, cudaLaunchAttributeID id, const cudaLaunchAttributeValue* value) {
  const auto stream = find_stream(handle);
  if (!stream) return stream.error();
  if (!value || !is_stream_attribute(id) || !is_possible(id, *value)) return cudaErrorInvalidValue;
  // The priority of a stream is given when it is made.
  if (id == cudaLaunchAttributePriority) return cudaErrorNotSupported;
  const std::lock_guard lock((*stream)->attributes_mutex);
  (*stream)->attributes[id] = *value;
  return cudaSuccess;
}

Error get_stream_attribute(cudaStream_t handle, cudaLaunchAttributeID id, cudaLaunchAttributeValue* value) {
  const auto stream = find_stream(handle);
  if (!stream) return stream.error();
  if (!value || !is_stream_attribute(id)) return cudaErrorInvalidValue;
  const std::lock_guard lock((*stream)->attributes_mutex);
  const auto found = (*stream)->attributes.find(id);
  *value = {};
  if (found != (*stream)->attributes.end()) {
    *value = found->second;
  } else if (id == cudaLaunchAttributePriority) {
    value->priority = (*stream)->priority;
  } else if (id == cudaLaunchAttributeSynchronizationPolicy) {
    value->syncPolicy = cudaSyncPolicyAuto;
  } else if (id == cudaLaunchAttributeMemSyncDomainMap) {
    value->memSyncDomainMap.remote = 1;
  }
  return cudaSuccess;
}

Error copy_stream_attributes(cudaStream_t to, cudaStream_t from) {
  const auto target = find_stream(to), source = find_stream(from);
  if (!target || !source) return !target ? target.error() : source.error();
  if (*target == *source) return cudaSuccess;
  const std::scoped_lock lock((*target)->attributes_mutex, (*source)->attributes_mutex);
  (*target)->attributes = (*source)->attributes;
  return cudaSuccess;
}

}  // namespace fb::shim
