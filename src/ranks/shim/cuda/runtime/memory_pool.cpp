// Allocation in stream order. The machine allocates and frees by stream; a pool says on which device, and which devices
// may access the memory.

#include <array>
#include <map>
#include <mutex>
#include <span>

#include "ranks/shim/cuda/core/error_report.h"
#include "ranks/shim/cuda/core/export.h"
#include "ranks/shim/cuda/core/registry.h"
#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/memory/memory.h"
#include "ranks/shim/cuda/streams/stream.h"

namespace shim = fb::shim;
using shim::record;

namespace {

struct Pool {
  int device = 0;
  bool is_default = false;
  fb::wire::Id id = 0;  // the machine's; 0: the default pool
  std::mutex mutex;
  std::map<int, cudaMemAccessFlags> access;  // of other devices
  // By cudaMemPoolAttr; stored and returned only.
  std::array<uint64_t, 9> attributes = {0, 1, 1, 1};
};

shim::Registry<cudaMemPool_t, Pool>& pools() {
  static auto* const all = new shim::Registry<cudaMemPool_t, Pool>;
  return *all;
}

struct Choice {
  std::mutex mutex;
  std::map<int, cudaMemPool_t> default_of, current_of;
};
Choice& choice() {
  static Choice* const made = new Choice;
  return *made;
}

shim::Expected<cudaMemPool_t> default_pool(int device) {
  if (const auto e = shim::check_device(device); e != cudaSuccess) return shim::failure(e);
  const std::lock_guard lock(choice().mutex);
  cudaMemPool_t& pool = choice().default_of[device];
  if (!pool) {
    auto made = std::make_shared<Pool>();
    made->device = device;
    made->is_default = true;
    pool = pools().add(std::move(made));
  }
  return pool;
}

cudaError_t give(cudaMemPool_t* into, const shim::Expected<cudaMemPool_t>& pool) {
  if (!into) return cudaErrorInvalidValue;
  if (!pool) return pool.error();
  *into = *pool;
  return cudaSuccess;
}

shim::Expected<cudaMemPool_t> current_pool(int device) {
  const auto fallback = default_pool(device);
  if (!fallback) return fallback;
  const std::lock_guard lock(choice().mutex);
  const auto chosen = choice().current_of.find(device);
  return chosen == choice().current_of.end() ? *fallback : chosen->second;
}

cudaError_t allocate(void** pointer, size_t bytes, cudaMemPool_t handle, cudaStream_t stream) {
  if (!pointer) return cudaErrorInvalidValue;
  *pointer = nullptr;
  const auto pool = pools().find(handle);
  if (!pool) return cudaErrorInvalidValue;
  if (bytes == 0) return shim::Session::get().connect();
  const auto address = shim::allocate_ordered(bytes, stream, {pool->id, pool->device});
  if (!address) return address.error();
  *pointer = reinterpret_cast<void*>(*address);
  return cudaSuccess;
}

cudaError_t allocate_from_current(void** pointer, size_t bytes, cudaStream_t handle) {
  if (!pointer) return cudaErrorInvalidValue;
  *pointer = nullptr;
  const auto stream = shim::find_stream(handle);
  if (!stream) return stream.error();
  const auto pool = current_pool((*stream)->device);
  return pool ? allocate(pointer, bytes, *pool, handle) : pool.error();
}

cudaError_t set_access(Pool& pool, std::span<const cudaMemAccessDesc> descriptions) {
  for (const auto& d : descriptions) {
    const bool known = d.flags == cudaMemAccessFlagsProtNone || d.flags == cudaMemAccessFlagsProtRead ||
                       d.flags == cudaMemAccessFlagsProtReadWrite;
    if (d.location.type != cudaMemLocationTypeDevice || !known) return cudaErrorInvalidValue;
    if (const auto e = shim::check_device(d.location.id); e != cudaSuccess) return e;
    const fb::wire::PoolAccess request{.pool = pool.id,
                                       .owner = static_cast<uint32_t>(pool.device),
                                       .device = static_cast<uint32_t>(d.location.id),
                                       .access = static_cast<fb::wire::Access>(d.flags),
                                       .zero = 0};
    const std::lock_guard lock(pool.mutex);
    if (const auto e = shim::call_on<fb::wire::Kind::pool_set_access>(pool.device, request); e != cudaSuccess) return e;
    pool.access[d.location.id] = d.flags;
  }
  return cudaSuccess;
}

bool is_wide(cudaMemPoolAttr attribute) { return attribute >= cudaMemPoolAttrReleaseThreshold; }

}  // namespace

FB_API cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  return record(allocate_from_current(pointer, bytes, stream));
}
FB_API cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  return record(allocate(pointer, bytes, pool, stream));
}
FB_API cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  return record(shim::free_ordered(pointer, stream));
}

FB_API cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  if (!pool || !properties || properties->allocType != cudaMemAllocationTypePinned ||
      properties->location.type != cudaMemLocationTypeDevice)
    return record(cudaErrorInvalidValue);
  if (const auto e = shim::check_device(properties->location.id); e != cudaSuccess) return record(e);
  auto made = std::make_shared<Pool>();
  made->device = properties->location.id;
  fb::wire::Handle handle;
  const auto e = shim::call_on<fb::wire::Kind::pool_create>(
      made->device, {.device = static_cast<uint32_t>(made->device), .zero = 0}, &handle);
  if (e != cudaSuccess) return record(e);
  made->id = handle.handle;
  *pool = pools().add(std::move(made));
  return cudaSuccess;
}
FB_API cudaError_t cudaMemPoolDestroy(cudaMemPool_t handle) {
  const auto pool = pools().find(handle);
  if (!pool || pool->is_default) return record(cudaErrorInvalidValue);
  pools().take(handle);
  {
    const std::lock_guard lock(choice().mutex);
    std::erase_if(choice().current_of, [&](const auto& entry) { return entry.second == handle; });
  }
  return record(shim::call_on<fb::wire::Kind::pool_destroy>(pool->device, {.handle = pool->id}));
}
FB_API cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  const auto pool = pools().find(handle);
  if (!pool || !value || attribute < 1 || attribute > cudaMemPoolAttrUsedMemHigh) return record(cudaErrorInvalidValue);
  pool->attributes[attribute] = is_wide(attribute) ? *static_cast<const uint64_t*>(value)
                                                   : static_cast<uint64_t>(*static_cast<const int*>(value));
  return cudaSuccess;
}
FB_API cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  const auto pool = pools().find(handle);
  if (!pool || !value || attribute < 1 || attribute > cudaMemPoolAttrUsedMemHigh) return record(cudaErrorInvalidValue);
  if (is_wide(attribute)) {
    *static_cast<uint64_t*>(value) = pool->attributes[attribute];
  } else {
    *static_cast<int*>(value) = static_cast<int>(pool->attributes[attribute]);
  }
  return cudaSuccess;
}
FB_API cudaError_t cudaMemPoolSetAccess(cudaMemPool_t handle, const cudaMemAccessDesc* descriptions, size_t count) {
  const auto pool = pools().find(handle);
  if (!pool || (!descriptions && count != 0)) return record(cudaErrorInvalidValue);
  return record(set_access(*pool, {descriptions, count}));
}
FB_API cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t handle, cudaMemLocation* location) {
  const auto pool = pools().find(handle);
  if (!pool || !flags || !location || location->type != cudaMemLocationTypeDevice) return record(cudaErrorInvalidValue);
  if (const auto e = shim::check_device(location->id); e != cudaSuccess) return record(e);
  const std::lock_guard lock(pool->mutex);
  const auto found = pool->access.find(location->id);
  *flags = location->id == pool->device  ? cudaMemAccessFlagsProtReadWrite
           : found == pool->access.end() ? cudaMemAccessFlagsProtNone
                                         : found->second;
  return cudaSuccess;
}
FB_API cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) {
  return record(pools().find(pool) ? cudaSuccess : cudaErrorInvalidValue);
}

FB_API cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return record(give(pool, default_pool(device)));
}
FB_API cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return record(give(pool, current_pool(device)));
}
FB_API cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t handle) {
  if (const auto e = shim::check_device(device); e != cudaSuccess) return record(e);
  const auto pool = pools().find(handle);
  if (!pool || pool->device != device) return record(cudaErrorInvalidValue);
  const std::lock_guard lock(choice().mutex);
  choice().current_of[device] = handle;
  return cudaSuccess;
}
