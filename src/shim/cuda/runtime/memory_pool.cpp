// Allocation in stream order. A pool is only a name: the machine allocates and frees by stream.

#include <array>
#include <map>
#include <mutex>

#include "shim/cuda/core/export.h"
#include "shim/cuda/core/memory.h"
#include "shim/cuda/core/registry.h"
#include "shim/cuda/core/session.h"
#include "shim/cuda/core/stream.h"

namespace shim = fb::shim;
using shim::record;

namespace {

struct Pool {
  int device = 0;
  bool is_default = false;
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

cudaError_t allocate(void** pointer, size_t bytes, cudaStream_t stream) {
  if (!pointer) return cudaErrorInvalidValue;
  *pointer = nullptr;
  if (bytes == 0) return shim::Session::get().connect();
  const auto address = shim::allocate_ordered(bytes, stream);
  if (!address) return address.error();
  *pointer = reinterpret_cast<void*>(*address);
  return cudaSuccess;
}

bool is_wide(cudaMemPoolAttr attribute) { return attribute >= cudaMemPoolAttrReleaseThreshold; }

}  // namespace

FB_API cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  return record(allocate(pointer, bytes, stream));
}
FB_API cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  if (!pools().find(pool)) return record(cudaErrorInvalidValue);
  return record(allocate(pointer, bytes, stream));
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
  *pool = pools().add(std::move(made));
  return cudaSuccess;
}
FB_API cudaError_t cudaMemPoolDestroy(cudaMemPool_t handle) {
  const auto pool = pools().find(handle);
  if (!pool || pool->is_default) return record(cudaErrorInvalidValue);
  pools().take(handle);
  const std::lock_guard lock(choice().mutex);
  std::erase_if(choice().current_of, [&](const auto& entry) { return entry.second == handle; });
  return cudaSuccess;
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
// Memory of a pool is accessible on its own device; cudaMemPoolSetAccess, which could change that, is not supported.
FB_API cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t handle, cudaMemLocation* location) {
  const auto pool = pools().find(handle);
  if (!pool || !flags || !location || location->type != cudaMemLocationTypeDevice) return record(cudaErrorInvalidValue);
  if (const auto e = shim::check_device(location->id); e != cudaSuccess) return record(e);
  *flags = location->id == pool->device ? cudaMemAccessFlagsProtReadWrite : cudaMemAccessFlagsProtNone;
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
