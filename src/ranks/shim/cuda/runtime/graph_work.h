#pragma once

// The runtime's parameter structs of graph nodes as work.

#include <cuda_runtime_api.h>

#include "ranks/shim/cuda/streams/work.h"

namespace fb::shim {

Expected<Work> to_work(const cudaKernelNodeParams* parameters);
Expected<Work> to_work(const cudaMemcpy3DParms* parameters);
Expected<Work> to_work(const cudaMemsetParams* parameters);
Expected<Work> to_work(const cudaHostNodeParams* parameters);
Expected<Work> copy_work(void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
Expected<Work> copy_to_symbol_work(const void* symbol, const void* from, size_t bytes, size_t offset,
                                   cudaMemcpyKind kind);
Expected<Work> copy_from_symbol_work(void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind);
Expected<Work> event_work(cudaEvent_t event, bool record);
Expected<Work> child_work(cudaGraph_t child);
// Of any type. Nodes that allocate memory get it.
Expected<Work> to_work(const cudaGraphNodeParams* parameters);
Expected<Work> allocation_work(const cudaMemPoolProps& properties, size_t bytes);
Expected<Work> release_work(void* pointer);

}  // namespace fb::shim
