#pragma once

// Host memory that devices can touch: shared with the machine, at the same address in this process and in the machine's
// eyes.

#include <cuda_runtime_api.h>

#include <optional>

#include "common/wire/messages.h"
#include "ranks/shim/cuda/core/error.h"
#include "ranks/shim/cuda/memory/host_ranges.h"

namespace fb::shim {

// kind: host or managed; for the current device.
Expected<void*> allocate_host(size_t bytes, wire::MemoryKind kind, unsigned int flags);
// For the library's own use: also while streams capture.
Expected<void*> allocate_host_always(size_t bytes, wire::MemoryKind kind, unsigned int flags);
Error free_host_always(void* pointer);

// What cudaHostAlloc gave; null is fine.
Error free_host(void* pointer);
// Managed memory; false when `pointer` is none.
bool is_managed(const void* pointer);
Error free_managed(void* pointer);

Error register_host(void* pointer, size_t bytes, unsigned int flags);
Error unregister_host(void* pointer);
// For network cards: memory of any kind, not a range of cudaHostRegister, becomes known to the machine. Ranges may
// overlap. `token` names the sharing until it ends.
Error share_memory(void* pointer, size_t bytes, uint64_t* token);
void unshare_memory(uint64_t token);
// A variable of the program that devices use at the address that it has.
Error register_managed(void* pointer, size_t bytes);
// Memory for one; it lives as long as the program.
Expected<void*> make_managed(size_t bytes);

// The range that holds this address.
std::optional<HostRange> find_host_range(const void* pointer);

// Pinned memory of this thread's process for larger pageable copies: held by one copy at a time.
class Staging {
 public:
  static constexpr size_t kBytes = 4 << 20;
  Staging();
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  // Null: no memory for it.
  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
};

}  // namespace fb::shim
