#include "ranks/shim/cuda/memory/host_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <mutex>
#include <vector>

#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/memory/host_ranges.h"
#include "ranks/shim/cuda/streams/capture.h"

namespace fb::shim {
namespace {

// The address range stays reserved when nothing is mapped there.
void unmap(uint64_t begin, uint64_t bytes) {
  void* const place = reinterpret_cast<void*>(begin);
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (::mmap(place, round_to_pages(bytes), PROT_NONE, flags, -1, 0) == MAP_FAILED)
    ::munmap(place, round_to_pages(bytes));
}

Error release(void* pointer, wire::MemoryKind kind, Error when_missing) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  const auto range = host_ranges().take(address, kind);
  if (!range) return when_missing;
  // First the machine, which waits for work that uses it.
  // Managed memory is freed as device memory is.
  const auto asked = kind == wire::MemoryKind::managed ? wire::MemoryKind::device : kind;
  const Error e = call<wire::Kind::free>({.address = address, .kind = asked});
  if (e == cudaSuccess) {
    unmap(range->begin, range->bytes);
  } else {
    host_ranges().add(*range);
  }
  return e;
}

struct StagingCache {
  std::mutex mutex;
  std::vector<std::byte*> free;
  uint32_t generation = 0;
};
StagingCache& staging_cache() {
  static StagingCache* const cache = new StagingCache;
  return *cache;
}

}  // namespace

Expected<void*> allocate_host(size_t bytes, wire::MemoryKind kind, unsigned int flags) {
  if (const Error e = check_unsafe_call(); e != cudaSuccess) return failure(e);
  return allocate_host_always(bytes, kind, flags);
}

Expected<void*> allocate_host_always(size_t bytes, wire::MemoryKind kind, unsigned int flags) {
  wire::Address address;
  UniqueFd memory;
  const wire::Allocate request{.device = static_cast<uint32_t>(thread().device), .kind = kind, .bytes = bytes};
  const Error e = call<wire::Kind::allocate>(request, &address, {}, nullptr, -1, &memory);
  if (e != cudaSuccess) return failure(e);
  void* const wanted = reinterpret_cast<void*>(address.address);
  if (!memory || !Session::get().owns(address.address)) return failure(cudaErrorUnknown);
  if (::mmap(wanted, round_to_pages(bytes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory.get(), 0) !=
      wanted) {
    const auto asked = kind == wire::MemoryKind::managed ? wire::MemoryKind::device : kind;
    call<wire::Kind::free>({.address = address.address, .kind = asked});
    return failure(cudaErrorMemoryAllocation);
  }
  host_ranges().add({.begin = address.address, .bytes = bytes, .kind = kind, .flags = flags});
  return wanted;
}

Error free_host(void* pointer) {
  if (!pointer) return cudaSuccess;
  if (const Error e = check_unsafe_call(); e != cudaSuccess) return e;
  return free_host_always(pointer);
}

Error free_host_always(void* pointer) { return release(pointer, wire::MemoryKind::host, cudaErrorInvalidValue); }

bool is_managed(const void* pointer) {
  const auto range = find_host_range(pointer);
  return range && range->kind == wire::MemoryKind::managed;
}

Error free_managed(void* pointer) { return release(pointer, wire::MemoryKind::managed, cudaErrorInvalidValue); }

std::optional<HostRange> find_host_range(const void* pointer) {
  return host_ranges().find(reinterpret_cast<uint64_t>(pointer));
}

Staging::Staging() {
  StagingCache& cache = staging_cache();
  {
    const std::lock_guard lock(cache.mutex);
    if (cache.generation != Session::get().generation()) cache.free.clear();
    cache.generation = Session::get().generation();
    if (!cache.free.empty()) {
      data_ = cache.free.back();
      cache.free.pop_back();
      return;
    }
  }
  if (auto made = allocate_host_always(kBytes, wire::MemoryKind::host, 0)) data_ = static_cast<std::byte*>(*made);
}

Staging::~Staging() {
  if (!data_) return;
  const std::lock_guard lock(staging_cache().mutex);
  staging_cache().free.push_back(data_);
}

}  // namespace fb::shim
