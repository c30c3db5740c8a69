#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "common/wire/messages.h"
#include "ranks/shim/cuda/core/error.h"
#include "ranks/shim/cuda/core/registry.h"

namespace fb::shim {

struct Capture;
struct GraphNode;

struct Stream {
  wire::Id id = 0;  // 0: the device's default stream
  int device = 0;
  unsigned int flags = 0;
  int priority = 0;
  unsigned long long number = 0;  // unique in the process

  // Attributes that were set (under attributes_mutex): hints, which are only kept.
  std::mutex attributes_mutex;
  std::map<cudaLaunchAttributeID, cudaLaunchAttributeValue> attributes;

  // While it captures (under graph_lock()): what the next node of this stream depends on.
  std::shared_ptr<Capture> capture;
  std::vector<std::shared_ptr<GraphNode>> tails;

  bool legacy() const { return id == 0; }
  bool blocking() const { return (flags & cudaStreamNonBlocking) == 0; }
  wire::StreamRef ref() const { return {.stream = id, .device = static_cast<uint32_t>(device), .zero = 0}; }
};
using StreamPtr = std::shared_ptr<Stream>;

Registry<cudaStream_t, Stream>& streams();

// What a handle means to this thread: 0 and 1 are the current device's default stream, 2 the thread's own.
// cudaErrorInvalidResourceHandle: no such stream.
Expected<StreamPtr> find_stream(cudaStream_t handle);

// On the current device. `flags` cudaStreamNonBlocking or 0; the priority is clamped to the device's range.
Expected<cudaStream_t> create_stream(unsigned int flags, int priority);

// Attributes of a stream: hints about caches, waiting and domains of memory order, and its priority.
Error set_stream_attribute(cudaStream_t handle, cudaLaunchAttributeID id, const cudaLaunchAttributeValue* value);
Error get_stream_attribute(cudaStream_t handle, cudaLaunchAttributeID id, cudaLaunchAttributeValue* value);
Error copy_stream_attributes(cudaStream_t to, cudaStream_t from);

inline constexpr int kLeastPriority = 0, kGreatestPriority = -5;

}  // namespace fb::shim
