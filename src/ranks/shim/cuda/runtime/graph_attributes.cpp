// Attributes of kernel nodes, memory of graphs in figures, and graphs as text.

#include <cstdio>
#include <memory>
#include <mutex>

#include "common/wire/messages.h"
#include "ranks/shim/cuda/core/error_report.h"
#include "ranks/shim/cuda/core/export.h"
#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/streams/capture.h"
#include "ranks/shim/cuda/streams/graph.h"
#include "ranks/shim/cuda/streams/graph_memory.h"

namespace shim = fb::shim;
using shim::record;

namespace {

shim::Expected<shim::KernelWork*> find_kernel_node(cudaGraphNode_t handle) {
  const auto node = shim::find_node(handle);
  if (!node) return shim::failure(node.error());
  auto* work = std::get_if<shim::KernelWork>(&(*node)->work);
  if (!work) return shim::failure(cudaErrorInvalidValue);
  return work;
}

bool is_attribute(cudaLaunchAttributeID id) {
  return id > cudaLaunchAttributeIgnore && id <= cudaLaunchAttributeNvlinkUtilCentricScheduling;
}

void set_attribute(shim::KernelWork& work, cudaLaunchAttributeID id, const cudaLaunchAttributeValue& value) {
  work.attributes[id] = value;
  if (id == cudaLaunchAttributeCooperative) {
    work.flags &= ~uint32_t{fb::wire::kCooperative};
    if (value.cooperative != 0) work.flags |= fb::wire::kCooperative;
  }
  if (id == cudaLaunchAttributeClusterDimension) {
    work.cluster[0] = value.clusterDim.x;
    work.cluster[1] = value.clusterDim.y;
    work.cluster[2] = value.clusterDim.z;
  }
}

cudaLaunchAttributeValue attribute_of(const shim::KernelWork& work, cudaLaunchAttributeID id) {
  const auto found = work.attributes.find(id);
  if (found != work.attributes.end()) return found->second;
  cudaLaunchAttributeValue value{};
  if (id == cudaLaunchAttributeCooperative) value.cooperative = (work.flags & fb::wire::kCooperative) != 0 ? 1 : 0;
  if (id == cudaLaunchAttributeClusterDimension) {
    value.clusterDim.x = work.cluster[0];
    value.clusterDim.y = work.cluster[1];
    value.clusterDim.z = work.cluster[2];
  }
  return value;
}

uint64_t* figure(int device, cudaGraphMemAttributeType attribute) {
  shim::GraphMemoryFigures& figures = shim::graph_memory_figures(device);
  switch (attribute) {
    case cudaGraphMemAttrUsedMemCurrent:
      return &figures.used;
    case cudaGraphMemAttrUsedMemHigh:
      return &figures.used_high;
    case cudaGraphMemAttrReservedMemCurrent:
      return &figures.reserved;
    case cudaGraphMemAttrReservedMemHigh:
      return &figures.reserved_high;
  }
  return nullptr;
}

const char* name_of(cudaGraphNodeType type) {
  constexpr const char* kNames[] = {"KERNEL",    "MEMCPY",     "MEMSET",       "HOST",       "GRAPH",
                                    "EMPTY",     "WAIT_EVENT", "EVENT_RECORD", "SIGNAL",     "WAIT",
                                    "MEM_ALLOC", "MEM_FREE",   "BATCH",        "CONDITIONAL"};
  const auto index = static_cast<size_t>(type);
  return index < std::size(kNames) ? kNames[index] : "NODE";
}

void print_dot(std::FILE* file, const shim::Graph& graph, int depth) {
  std::fprintf(file, "%*ssubgraph cluster_%p {\n", depth * 2, "", static_cast<const void*>(&graph));
  for (const auto& node : graph.nodes) {
    const auto* kernel = std::get_if<shim::KernelWork>(&node->work);
    const void* self = node.get();
    std::fprintf(file, "%*s\"%p\" [label=\"%s%s%s\"];\n", depth * 2 + 2, "", self, name_of(shim::type_of(*node)),
                 kernel ? " " : "", kernel ? kernel->function->name.c_str() : "");
    for (const shim::GraphNode* before : node->after)
      std::fprintf(file, "%*s\"%p\" -> \"%p\";\n", depth * 2 + 2, "", static_cast<const void*>(before), self);
    shim::for_each_inner(node->work, [&](const shim::GraphPtr& inner) { print_dot(file, *inner, depth + 1); });
  }
  std::fprintf(file, "%*s}\n", depth * 2, "");
}

}  // namespace

FB_API cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t to, cudaGraphNode_t from) {
  const std::lock_guard lock(shim::graph_lock());
  const auto destination = find_kernel_node(to), source = find_kernel_node(from);
  if (!destination || !source) return record(cudaErrorInvalidValue);
  (*destination)->attributes = (*source)->attributes;
  (*destination)->flags = (*source)->flags;
  std::copy_n((*source)->cluster, 3, (*destination)->cluster);
  return cudaSuccess;
}
FB_API cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID id,
                                                   cudaLaunchAttributeValue* value) {
  const std::lock_guard lock(shim::graph_lock());
  const auto work = find_kernel_node(node);
  if (!work || !value || !is_attribute(id)) return record(cudaErrorInvalidValue);
  *value = attribute_of(**work, id);
  return cudaSuccess;
}
FB_API cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID id,
                                                   const cudaLaunchAttributeValue* value) {
  const std::lock_guard lock(shim::graph_lock());
  const auto work = find_kernel_node(node);
  if (!work || !value || !is_attribute(id)) return record(cudaErrorInvalidValue);
  set_attribute(**work, id, *value);
  return cudaSuccess;
}

FB_API cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute, void* value) {
  if (const auto e = shim::check_device(device); e != cudaSuccess) return record(e);
  const std::lock_guard lock(shim::graph_lock());
  const uint64_t* const found = figure(device, attribute);
  if (!found || !value) return record(cudaErrorInvalidValue);
  *static_cast<uint64_t*>(value) = *found;
  return cudaSuccess;
}
// High-water marks can be set back to 0.
FB_API cudaError_t cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute, void* value) {
  if (const auto e = shim::check_device(device); e != cudaSuccess) return record(e);
  const std::lock_guard lock(shim::graph_lock());
  const bool is_high = attribute == cudaGraphMemAttrUsedMemHigh || attribute == cudaGraphMemAttrReservedMemHigh;
  if (!value || !is_high || *static_cast<uint64_t*>(value) != 0) return record(cudaErrorInvalidValue);
  const bool of_use = attribute == cudaGraphMemAttrUsedMemHigh;
  *figure(device, attribute) =
      *figure(device, of_use ? cudaGraphMemAttrUsedMemCurrent : cudaGraphMemAttrReservedMemCurrent);
  return cudaSuccess;
}
// Memory of graphs goes with them: there is nothing to give back.
FB_API cudaError_t cudaDeviceGraphMemTrim(int device) { return record(shim::check_device(device)); }

FB_API cudaError_t cudaGraphDebugDotPrint(cudaGraph_t handle, const char* path, unsigned int) {
  const std::lock_guard lock(shim::graph_lock());
  const auto graph = shim::find_graph(handle);
  if (!graph || !path) return record(cudaErrorInvalidValue);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "w"), &std::fclose);
  if (!file) return record(cudaErrorOperatingSystem);
  std::fputs("digraph dot {\n", file.get());
  print_dot(file.get(), **graph, 1);
  std::fputs("}\n", file.get());
  return cudaSuccess;
}
