#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <vector>

#include "common/wire/channel.h"
#include "ranks/shim/cuda/core/error.h"

namespace fb::shim {

struct Stream;

// What kernel<<<…>>> pushes and the kernel's stub pops.
struct CallConfiguration {
  dim3 grid, block;
  size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
};

// What belongs to one host thread. It lives on the heap and outlives the thread's other destructors.
struct ThreadState {
  wire::Channel channel;
  uint32_t generation = 0;  // of the session that `channel` was opened in
  int device = 0;
  // The driver API's current context: false until the runtime or the driver API has made one current.
  bool has_context = false;
  bool in_callback = false;
  bool own_default_stream = false;  // the default stream is cudaStreamPerThread
  Error last_error = cudaSuccess;
  cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;
  std::vector<CallConfiguration> configurations;
  std::map<int, std::shared_ptr<Stream>> default_streams;  // cudaStreamPerThread, by device
};

ThreadState& thread();

}  // namespace fb::shim
