#pragma once

// What programs do with events.

#include <cuda_runtime_api.h>

#include "ranks/shim/cuda/core/error.h"

namespace fb::shim {

Expected<cudaEvent_t> create_event(unsigned int flags);  // on the current device
Error destroy_event(cudaEvent_t handle);
// `flags`: cudaEventRecordExternal or 0.
Error record_event(cudaEvent_t handle, cudaStream_t stream, unsigned int flags);
Error query_event(cudaEvent_t handle);
Error wait_for_event(cudaEvent_t handle);
Error elapsed_time(float* milliseconds, cudaEvent_t begin, cudaEvent_t end);
Error export_event(cudaIpcEventHandle_t* token, cudaEvent_t handle);
Expected<cudaEvent_t> import_event(const cudaIpcEventHandle_t& token);

}  // namespace fb::shim
