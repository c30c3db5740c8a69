#pragma once

// Memory that graphs allocate and free. Its address stays the same from launch to launch: memory is taken when the node
// is made, and is in use from a launch that allocates it until one that frees it, or until cudaFree.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

#include "ranks/shim/cuda/core/error.h"
#include "ranks/shim/cuda/streams/graph.h"

namespace fb::shim {

struct GraphMemory {
  uint64_t address = 0;
  size_t bytes = 0;
  int device = 0;
  bool in_use = false;

  // Memory that is still in use becomes the program's, which may free it.
  ~GraphMemory();
};
using GraphMemoryPtr = std::shared_ptr<GraphMemory>;

Expected<GraphMemoryPtr> allocate_for_graph(int device, size_t bytes);
// Null: the address is not memory of a graph.
GraphMemoryPtr find_graph_memory(uint64_t address);
// cudaFree and cudaFreeAsync of memory that a graph has allocated. cudaErrorInvalidValue: it is not in use.
Error free_graph_memory(GraphMemory& memory);
// What a launch of the graph does. cudaErrorInvalidValue: memory that it allocates is still in use, unless it
// `frees` that first.
Error allocate_for_launch(const Graph& graph, bool frees);

struct GraphMemoryFigures {
  uint64_t used = 0, used_high = 0, reserved = 0, reserved_high = 0;
};
GraphMemoryFigures& graph_memory_figures(int device);

}  // namespace fb::shim
