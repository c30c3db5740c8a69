#pragma once

// What can be put on a stream: sent to the machine at once, or, on a stream that captures, made a node of a graph.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <map>
#include <memory>
#include <variant>
#include <vector>

#include "common/wire/messages.h"
#include "ranks/shim/cuda/core/error.h"
#include "ranks/shim/cuda/modules/module.h"
#include "ranks/shim/cuda/streams/event.h"
#include "ranks/shim/cuda/streams/stream.h"

namespace fb::shim {

struct Graph;

struct KernelWork {
  FunctionPtr function;
  void* symbol = nullptr;  // what the program called it: a shadow or a handle
  int device = 0;
  dim3 grid, block;
  unsigned int cluster[3] = {0, 0, 0};
  uint32_t flags = 0;  // wire::LaunchFlags
  size_t shared_bytes = 0;
  std::vector<std::byte> params;  // the parameter block
  // As the program has set them; those that the machine knows are in the members above, too.
  std::map<cudaLaunchAttributeID, cudaLaunchAttributeValue> attributes = {};
  std::string where = {};  // the line of the call, if the machine wants to know
};

// A box of bytes between two addresses of this process, of whatever kind.
struct CopyWork {
  void* to = nullptr;
  size_t to_pitch = 0, to_plane = 0;
  const void* from = nullptr;
  size_t from_pitch = 0, from_plane = 0;
  size_t width = 0, height = 1, depth = 1;
  cudaMemcpyKind kind = cudaMemcpyDefault;
};

struct MemsetWork {
  void* to = nullptr;
  size_t pitch = 0, plane = 0;
  size_t width = 0, height = 1, depth = 1;  // width in elements
  uint32_t value = 0, element = 1;
};

struct HostWork {
  cudaHostFn_t function = nullptr;
  void* data = nullptr;
};

struct EventWork {
  EventPtr event;
  bool record = false;  // else wait
};

struct ValueWork {
  uint64_t address = 0, value = 0;
  uint32_t bytes = 4;
  bool write = false;  // else wait until `compare` holds
  wire::Compare compare{};
};

struct ChildWork {
  std::shared_ptr<Graph> graph;
};

// A node that runs one of its bodies, or the only one again and again, by a value that kernels set.
struct ConditionalWork {
  cudaGraphConditionalHandle handle = 0;
  cudaGraphConditionalNodeType type = cudaGraphCondTypeIf;
  std::vector<std::shared_ptr<Graph>> bodies;
  std::shared_ptr<std::vector<cudaGraph_t>> handles;  // of the bodies, as the program was told
};

struct GraphMemory;
// Memory of graphs, from the node that allocates it to the one that frees it.
struct MemoryWork {
  std::shared_ptr<GraphMemory> memory;
  bool frees = false;
};

// Calls of one group of NCCL on one communicator.
struct CollectiveWork {
  wire::Collective request;
  std::vector<std::byte> calls;
};

// A call of cuBLAS.
struct BlasWork {
  wire::Blas request;
};

struct EmptyWork {};

using Work = std::variant<EmptyWork, KernelWork, CopyWork, MemsetWork, HostWork, EventWork, ValueWork, ChildWork,
                          ConditionalWork, MemoryWork, CollectiveWork, BlasWork>;

}  // namespace fb::shim
