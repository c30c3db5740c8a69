// Nodes of graphs: added, read and changed.

#include <mutex>

#include "ranks/shim/cuda/core/error_report.h"
#include "ranks/shim/cuda/core/export.h"
#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/runtime/graph_work.h"
#include "ranks/shim/cuda/streams/capture.h"
#include "ranks/shim/cuda/streams/graph.h"
#include "ranks/shim/cuda/streams/graph_memory.h"

namespace shim = fb::shim;
using shim::record;

namespace {

cudaError_t add(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
                shim::Expected<shim::Work> work) {
  if (!node) return cudaErrorInvalidValue;
  if (!work) return work.error();
  const auto made = shim::add_node(graph, dependencies, count, std::move(*work));
  if (!made) return made.error();
  *node = *made;
  return cudaSuccess;
}

// What CUDA tells in the parameters of a new node: the address of memory, the bodies of a conditional node.
void tell(cudaGraphNode_t handle, cudaGraphNodeParams& parameters) {
  const std::lock_guard lock(shim::graph_lock());
  const auto node = shim::find_node(handle);
  if (!node) return;
  if (const auto* memory = std::get_if<shim::MemoryWork>(&(*node)->work); memory && !memory->frees)
    parameters.alloc.dptr = reinterpret_cast<void*>(memory->memory->address);
  if (auto* conditional = std::get_if<shim::ConditionalWork>(&(*node)->work)) {
    conditional->handles = std::make_shared<std::vector<cudaGraph_t>>();
    for (const auto& body : conditional->bodies) conditional->handles->push_back(body->handle);
    parameters.conditional.phGraph_out = conditional->handles->data();
  }
}

cudaError_t set(cudaGraphNode_t node, shim::Expected<shim::Work> work) {
  return work ? shim::set_node(node, std::move(*work)) : work.error();
}

// Calls `read` with the node's work of type T.
template <class T>
cudaError_t read(cudaGraphNode_t handle, const void* into, auto&& reader) {
  if (!into) return cudaErrorInvalidValue;
  const std::lock_guard lock(shim::graph_lock());
  const auto node = shim::find_node(handle);
  if (!node) return node.error();
  auto* work = std::get_if<T>(&(*node)->work);
  return work ? reader(*work) : cudaErrorInvalidValue;
}

cudaError_t read_event(cudaGraphNode_t node, cudaEvent_t* event, bool records) {
  return read<shim::EventWork>(node, event, [&](const shim::EventWork& work) {
    if (work.record != records) return cudaErrorInvalidValue;
    *event = shim::events().handle_of(work.event);
    return cudaSuccess;
  });
}

cudaError_t set_event(cudaGraphNode_t node, cudaEvent_t event, bool records) {
  cudaEvent_t before = nullptr;
  if (const auto e = read_event(node, &before, records); e != cudaSuccess) return e;
  return set(node, shim::event_work(event, records));
}

cudaError_t read_kernel(cudaGraphNode_t node, cudaKernelNodeParams* into) {
  return read<shim::KernelWork>(node, into, [&](shim::KernelWork& work) {
    const auto info = work.function->info(work.device);
    if (!info) return info.error();
    // Good until the thread asks again, as the node owns what they point to.
    static thread_local std::vector<void*> arguments;
    arguments.clear();
    for (const auto& [offset, bytes] : info->params) arguments.push_back(work.params.data() + offset);
    *into = {.func = work.symbol,
             .gridDim = work.grid,
             .blockDim = work.block,
             .sharedMemBytes = static_cast<unsigned int>(work.shared_bytes),
             .kernelParams = arguments.data(),
             .extra = nullptr};
    return cudaSuccess;
  });
}

}  // namespace

FB_API cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                          size_t count, const cudaKernelNodeParams* parameters) {
  return record(add(node, graph, dependencies, count, shim::to_work(parameters)));
}
FB_API cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                          size_t count, const cudaMemcpy3DParms* parameters) {
  return record(add(node, graph, dependencies, count, shim::to_work(parameters)));
}
FB_API cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                            const cudaGraphNode_t* dependencies, size_t dependency_count, void* to,
                                            const void* from, size_t bytes, cudaMemcpyKind kind) {
  return record(add(node, graph, dependencies, dependency_count, shim::copy_work(to, from, bytes, kind)));
}
FB_API cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                          size_t count, const cudaMemsetParams* parameters) {
  return record(add(node, graph, dependencies, count, shim::to_work(parameters)));
}
FB_API cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                        size_t count, const cudaHostNodeParams* parameters) {
  return record(add(node, graph, dependencies, count, shim::to_work(parameters)));
}
FB_API cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                         size_t count) {
  return record(add(node, graph, dependencies, count, shim::Work(shim::EmptyWork{})));
}
FB_API cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                               const cudaGraphNode_t* dependencies, size_t count, cudaEvent_t event) {
  return record(add(node, graph, dependencies, count, shim::event_work(event, true)));
}
FB_API cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                             const cudaGraphNode_t* dependencies, size_t count, cudaEvent_t event) {
  return record(add(node, graph, dependencies, count, shim::event_work(event, false)));
}
FB_API cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                              const cudaGraphNode_t* dependencies, size_t count, cudaGraph_t child) {
  if (graph == child) return record(cudaErrorInvalidValue);
  return record(add(node, graph, dependencies, count, shim::child_work(child)));
}

FB_API cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                    const cudaGraphEdgeData*, size_t count, cudaGraphNodeParams* parameters) {
  const auto e = add(node, graph, dependencies, count, shim::to_work(parameters));
  if (e == cudaSuccess) tell(*node, *parameters);
  return record(e);
}
FB_API cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, cudaGraphNodeParams* parameters) {
  return record(set(node, shim::to_work(parameters)));
}
FB_API cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle* handle, cudaGraph_t graph,
                                                    unsigned int value, unsigned int flags) {
  if (!handle || flags > cudaGraphCondAssignDefault) return record(cudaErrorInvalidValue);
  if (const auto found = shim::find_graph(graph); !found) return record(found.error());
  *handle = shim::make_conditional({value, flags});
  return cudaSuccess;
}
FB_API cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                            const cudaGraphNode_t* dependencies, size_t count,
                                            cudaMemAllocNodeParams* parameters) {
  if (!parameters) return record(cudaErrorInvalidValue);
  const auto work = shim::allocation_work(parameters->poolProps, parameters->bytesize);
  if (work) parameters->dptr = reinterpret_cast<void*>(std::get<shim::MemoryWork>(*work).memory->address);
  return record(add(node, graph, dependencies, count, work));
}
FB_API cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                           const cudaGraphNode_t* dependencies, size_t count, void* pointer) {
  return record(add(node, graph, dependencies, count, shim::release_work(pointer)));
}
FB_API cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, cudaMemAllocNodeParams* parameters) {
  return record(read<shim::MemoryWork>(node, parameters, [&](const shim::MemoryWork& work) {
    if (work.frees) return cudaErrorInvalidValue;
    *parameters = {};
    parameters->poolProps.allocType = cudaMemAllocationTypePinned;
    parameters->poolProps.location = {cudaMemLocationTypeDevice, work.memory->device};
    parameters->bytesize = work.memory->bytes;
    parameters->dptr = reinterpret_cast<void*>(work.memory->address);
    return cudaSuccess;
  }));
}
FB_API cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void* pointer) {
  return record(read<shim::MemoryWork>(node, pointer, [&](const shim::MemoryWork& work) {
    if (!work.frees) return cudaErrorInvalidValue;
    *static_cast<void**>(pointer) = reinterpret_cast<void*>(work.memory->address);
    return cudaSuccess;
  }));
}
FB_API cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                                  const cudaGraphNode_t* dependencies, size_t dependency_count,
                                                  const void* symbol, const void* from, size_t bytes, size_t offset,
                                                  cudaMemcpyKind kind) {
  return record(
      add(node, graph, dependencies, dependency_count, shim::copy_to_symbol_work(symbol, from, bytes, offset, kind)));
}
FB_API cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                                    const cudaGraphNode_t* dependencies, size_t dependency_count,
                                                    void* to, const void* symbol, size_t bytes, size_t offset,
                                                    cudaMemcpyKind kind) {
  return record(
      add(node, graph, dependencies, dependency_count, shim::copy_from_symbol_work(to, symbol, bytes, offset, kind)));
}
FB_API cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void* symbol, const void* from,
                                                        size_t bytes, size_t offset, cudaMemcpyKind kind) {
  return record(set(node, shim::copy_to_symbol_work(symbol, from, bytes, offset, kind)));
}
FB_API cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void* to, const void* symbol,
                                                          size_t bytes, size_t offset, cudaMemcpyKind kind) {
  return record(set(node, shim::copy_from_symbol_work(to, symbol, bytes, offset, kind)));
}

FB_API cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* parameters) {
  return record(read_kernel(node, parameters));
}
FB_API cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* parameters) {
  return record(set(node, shim::to_work(parameters)));
}
FB_API cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms* parameters) {
  return record(read<shim::CopyWork>(node, parameters, [&](const shim::CopyWork& box) {
    *parameters = {};
    parameters->srcPtr = {const_cast<void*>(box.from), box.from_pitch, box.width, box.height};
    parameters->dstPtr = {box.to, box.to_pitch, box.width, box.height};
    parameters->extent = {box.width, box.height, box.depth};
    parameters->kind = box.kind;
    return cudaSuccess;
  }));
}
FB_API cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms* parameters) {
  return record(set(node, shim::to_work(parameters)));
}
FB_API cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* to, const void* from, size_t bytes,
                                                  cudaMemcpyKind kind) {
  return record(set(node, shim::copy_work(to, from, bytes, kind)));
}
FB_API cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams* parameters) {
  return record(read<shim::MemsetWork>(node, parameters, [&](const shim::MemsetWork& box) {
    *parameters = {.dst = box.to,
                   .pitch = box.pitch,
                   .value = box.value,
                   .elementSize = box.element,
                   .width = box.width,
                   .height = box.height};
    return cudaSuccess;
  }));
}
FB_API cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* parameters) {
  return record(set(node, shim::to_work(parameters)));
}
FB_API cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams* parameters) {
  return record(read<shim::HostWork>(node, parameters, [&](const shim::HostWork& work) {
    *parameters = {.fn = work.function, .userData = work.data};
    return cudaSuccess;
  }));
}
FB_API cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams* parameters) {
  return record(set(node, shim::to_work(parameters)));
}
FB_API cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t* graph) {
  return record(read<shim::ChildWork>(node, graph, [&](const shim::ChildWork& work) {
    *graph = work.graph->handle;
    return cudaSuccess;
  }));
}
FB_API cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event) {
  return record(read_event(node, event, true));
}
FB_API cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  return record(set_event(node, event, true));
}
FB_API cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event) {
  return record(read_event(node, event, false));
}
FB_API cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  return record(set_event(node, event, false));
}
