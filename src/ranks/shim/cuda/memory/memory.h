#pragma once

#include <cuda_runtime_api.h>

#include "common/wire/messages.h"
#include "ranks/shim/cuda/core/error.h"

namespace fb::shim {

// On the current device.
Expected<uint64_t> allocate_device(size_t bytes);
// What cudaMalloc, cudaMallocManaged and cudaMallocAsync gave; null is fine.
Error free_device(void* pointer);

// A pool as the machine knows it; 0: the default pool of `device`.
struct PoolRef {
  wire::Id pool = 0;
  int device = 0;
};
Expected<uint64_t> allocate_ordered(size_t bytes, cudaStream_t stream, const PoolRef& pool);
Error free_ordered(void* pointer, cudaStream_t stream);

// The facts of any address; kind unknown for pageable memory.
Expected<wire::PointerFacts> describe(const void* pointer);

Error export_memory(cudaIpcMemHandle_t* token, void* pointer);
// On the current device. A handle that is open already gives the same address again and counts.
Expected<uint64_t> import_memory(const cudaIpcMemHandle_t& token);
Error close_imported(void* pointer);

Error enable_peer(int peer, unsigned int flags);  // for the current device
Error disable_peer(int peer);
bool can_access_peer(int device, int peer);

// Forgets what the current process has on a device, as cudaDeviceReset does.
Error reset_device(int device);

}  // namespace fb::shim
