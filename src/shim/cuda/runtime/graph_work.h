#pragma once

// The runtime's parameter structs of graph nodes as work.

#include <cuda_runtime_api.h>

#include "shim/cuda/core/work.h"

namespace fb::shim {

Expected<Work> to_work(const cudaKernelNodeParams* parameters);
Expected<Work> to_work(const cudaMemcpy3DParms* parameters);
Expected<Work> to_work(const cudaMemsetParams* parameters);
Expected<Work> to_work(const cudaHostNodeParams* parameters);
Expected<Work> copy_work(void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
Expected<Work> event_work(cudaEvent_t event, bool record);
Expected<Work> child_work(cudaGraph_t child);

}  // namespace fb::shim
