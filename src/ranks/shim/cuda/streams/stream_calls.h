#pragma once

// Calls about streams that matter to captures.

#include <cuda_runtime_api.h>

#include "ranks/shim/cuda/core/error.h"

namespace fb::shim {

Error destroy_stream(cudaStream_t handle);
Error wait_for_stream(cudaStream_t handle);
Error query_stream(cudaStream_t handle);
// `flags`: cudaEventWaitExternal or 0.
Error stream_wait_event(cudaStream_t handle, cudaEvent_t event, unsigned int flags);
Error wait_for_device(int device);

}  // namespace fb::shim
