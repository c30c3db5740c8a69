#include "ranks/shim/cuda/streams/graph_memory.h"

#include <algorithm>
#include <map>

#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/streams/capture.h"

namespace fb::shim {
namespace {

// By address; under graph_lock().
std::map<uint64_t, std::weak_ptr<GraphMemory>>& all_memory() {
  static auto* const all = new std::map<uint64_t, std::weak_ptr<GraphMemory>>;
  return *all;
}

void set_in_use(GraphMemory& memory, bool in_use) {
  if (memory.in_use == in_use) return;
  memory.in_use = in_use;
  GraphMemoryFigures& figures = graph_memory_figures(memory.device);
  figures.used += in_use ? memory.bytes : 0;
  figures.used -= in_use ? 0 : memory.bytes;
  figures.used_high = std::max(figures.used_high, figures.used);
}

}  // namespace

GraphMemory::~GraphMemory() {
  const std::lock_guard lock(graph_lock());
  all_memory().erase(address);
  GraphMemoryFigures& figures = graph_memory_figures(device);
  figures.reserved -= bytes;
  if (in_use) {
    figures.used -= bytes;
    return;
  }
  // As cudaFree, behind work that may still use it.
  call_on<wire::Kind::device_wait>(device, {.device = static_cast<uint32_t>(device), .zero = 0});
  call_on<wire::Kind::free>(device, {.address = address, .kind = wire::MemoryKind::device});
}

Expected<GraphMemoryPtr> allocate_for_graph(int device, size_t bytes) {
  if (bytes == 0) return failure(cudaErrorInvalidValue);
  const wire::Allocate request{
      .device = static_cast<uint32_t>(device), .kind = wire::MemoryKind::device, .bytes = bytes};
  wire::Address made;
  if (const Error e = call_on<wire::Kind::allocate>(device, request, &made); e != cudaSuccess) return failure(e);
  auto memory = std::make_shared<GraphMemory>();
  memory->address = made.address;
  memory->bytes = bytes;
  memory->device = device;
  const std::lock_guard lock(graph_lock());
  all_memory()[made.address] = memory;
  GraphMemoryFigures& figures = graph_memory_figures(device);
  figures.reserved += bytes;
  figures.reserved_high = std::max(figures.reserved_high, figures.reserved);
  return memory;
}

GraphMemoryPtr find_graph_memory(uint64_t address) {
  const std::lock_guard lock(graph_lock());
  const auto found = all_memory().find(address);
  return found == all_memory().end() ? nullptr : found->second.lock();
}

Error free_graph_memory(GraphMemory& memory) {
  const std::lock_guard lock(graph_lock());
  if (!memory.in_use) return cudaErrorInvalidValue;
  set_in_use(memory, false);
  return cudaSuccess;
}

Error allocate_for_launch(const Graph& graph, bool frees) {
  const std::lock_guard lock(graph_lock());
  const auto sorted = sorted_nodes(graph);
  if (!sorted) return sorted.error();
  if (!frees) {
    for (const GraphNode* node : *sorted) {
      const auto* work = std::get_if<MemoryWork>(&node->work);
      if (work && !work->frees && work->memory->in_use) return cudaErrorInvalidValue;
    }
  }
  for (const GraphNode* node : *sorted) {
    if (const auto* work = std::get_if<MemoryWork>(&node->work)) set_in_use(*work->memory, !work->frees);
    Error e = cudaSuccess;
    for_each_inner(node->work, [&](const GraphPtr& inner) {
      if (e == cudaSuccess) e = allocate_for_launch(*inner, frees);
    });
    if (e != cudaSuccess) return e;
  }
  return cudaSuccess;
}

GraphMemoryFigures& graph_memory_figures(int device) {
  static auto* const all = new std::map<int, GraphMemoryFigures>;
  return (*all)[device];
}

}  // namespace fb::shim
