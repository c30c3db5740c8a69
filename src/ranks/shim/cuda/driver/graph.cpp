// Graphs: the runtime's objects under the driver's names.

#include "ranks/shim/cuda/streams/graph.h"

#include "ranks/shim/cuda/core/error_report.h"
#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/driver/copy.h"
#include "ranks/shim/cuda/driver/driver.h"
#include "ranks/shim/cuda/modules/launch.h"
#include "ranks/shim/cuda/streams/capture.h"

using namespace fb::shim;

namespace {

// A context given with a node says which device it is for; null is the current one.
Expected<int> device_for(CUcontext context) {
  if (!context) return thread().device;
  const int device = device_of(context);
  if (device < 0) return failure(cudaErrorDeviceUninitialized);
  return device;
}

Error add(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count, Expected<Work> work) {
  if (!node) return cudaErrorInvalidValue;
  if (!work) return work.error();
  return put(node, add_node(graph, after, count, std::move(*work)));
}

Expected<Work> to_work(const CUDA_KERNEL_NODE_PARAMS* parameters) {
  if (!parameters) return failure(cudaErrorInvalidValue);
  const auto device = device_for(parameters->ctx);
  if (!device) return failure(device.error());
  void* const symbol =
      parameters->func ? reinterpret_cast<void*>(parameters->func) : reinterpret_cast<void*>(parameters->kern);
  const auto function = find_kernel(symbol);
  if (!function) return failure(function.error());
  LaunchShape shape;
  shape.grid = {parameters->gridDimX, parameters->gridDimY, parameters->gridDimZ};
  shape.block = {parameters->blockDimX, parameters->blockDimY, parameters->blockDimZ};
  shape.shared_bytes = parameters->sharedMemBytes;
  auto kernel = make_kernel(*function, symbol, *device, shape, parameters->kernelParams, parameters->extra);
  if (!kernel) return failure(kernel.error());
  return std::move(*kernel);
}

Expected<Work> to_work(const CUDA_MEMSET_NODE_PARAMS* parameters) {
  if (!parameters) return failure(cudaErrorInvalidValue);
  const unsigned int element = parameters->elementSize;
  if (element != 1 && element != 2 && element != 4) return failure(cudaErrorInvalidValue);
  if (parameters->dst == 0 || parameters->dst % element != 0) return failure(cudaErrorInvalidValue);
  return MemsetWork{.to = pointer_of(parameters->dst),
                    .pitch = parameters->height > 1 ? parameters->pitch : parameters->width * element,
                    .plane = parameters->pitch * parameters->height,
                    .width = parameters->width,
                    .height = parameters->height,
                    .depth = 1,
                    .value = parameters->value,
                    .element = element};
}

Expected<Work> to_work(const CUDA_MEMCPY3D* parameters) {
  auto box = to_box(parameters);
  if (!box) return failure(box.error());
  return *box;
}

Expected<Work> to_work(const CUDA_HOST_NODE_PARAMS* parameters) {
  if (!parameters || !parameters->fn) return failure(cudaErrorInvalidValue);
  return HostWork{.function = parameters->fn, .data = parameters->userData};
}

}  // namespace

// Capture

FB_API CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  return in_context([&] { return begin_capture(stream, static_cast<cudaStreamCaptureMode>(mode)); });
}

FB_API CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
                                            const CUgraphEdgeData*, size_t count, CUstreamCaptureMode mode) {
  return in_context([&] {
    return begin_capture_to_graph(stream, graph, dependencies, count, static_cast<cudaStreamCaptureMode>(mode));
  });
}

FB_API CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  return in_context([&] { return end_capture(stream, graph); });
}

FB_API CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return in_context([&] {
    cudaStreamCaptureStatus found = cudaStreamCaptureStatusNone;
    if (!status) return cudaErrorInvalidValue;
    const Error e = capture_status(stream, &found);
    *status = static_cast<CUstreamCaptureStatus>(found);
    return e;
  });
}

FB_API CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                                       const CUgraphNode** dependencies, const CUgraphEdgeData** edges, size_t* count) {
  return in_context([&] {
    if (!status) return cudaErrorInvalidValue;
    cudaStreamCaptureStatus found = cudaStreamCaptureStatusNone;
    unsigned long long number = 0;
    const Error e = capture_info(stream, &found, &number, graph, dependencies, count);
    *status = static_cast<CUstreamCaptureStatus>(found);
    if (id) *id = number;
    if (edges) *edges = nullptr;
    return e;
  });
}

FB_API CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode* dependencies, const CUgraphEdgeData*,
                                                  size_t count, unsigned int flags) {
  return in_context([&] { return update_capture_dependencies(stream, dependencies, count, flags); });
}

FB_API CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return in_context([&] {
    static_assert(sizeof *mode == sizeof(cudaStreamCaptureMode));
    return as_runtime(
        [&] { return cudaThreadExchangeStreamCaptureMode(reinterpret_cast<cudaStreamCaptureMode*>(mode)); });
  });
}

// Nodes

FB_API CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                     const CUDA_KERNEL_NODE_PARAMS* parameters) {
  return in_context([&] { return add(node, graph, dependencies, count, to_work(parameters)); });
}

FB_API CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* parameters) {
  return in_context([&] {
    auto work = to_work(parameters);
    return work ? set_node(node, std::move(*work)) : work.error();
  });
}

FB_API CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                               const CUDA_KERNEL_NODE_PARAMS* parameters) {
  return in_context([&] {
    auto work = to_work(parameters);
    return work ? set_exec_node(exec, node, std::move(*work)) : work.error();
  });
}

FB_API CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                     const CUDA_MEMCPY3D* copy, CUcontext) {
  return in_context([&] { return add(node, graph, dependencies, count, to_work(copy)); });
}

FB_API CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                     const CUDA_MEMSET_NODE_PARAMS* parameters, CUcontext) {
  return in_context([&] { return add(node, graph, dependencies, count, to_work(parameters)); });
}

FB_API CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                   const CUDA_HOST_NODE_PARAMS* parameters) {
  return in_context([&] { return add(node, graph, dependencies, count, to_work(parameters)); });
}

FB_API CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                         size_t count, CUgraph child) {
  return in_context([&] {
    const std::lock_guard lock(graph_lock());
    const auto inner = find_graph(child);
    if (!inner) return inner.error();
    GraphPtr clone = clone_graph(**inner);
    clone->is_child = true;
    return add(node, graph, dependencies, count, Work(ChildWork{.graph = std::move(clone)}));
  });
}

FB_API CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count) {
  return in_context([&] { return add(node, graph, dependencies, count, Work(EmptyWork{})); });
}

FB_API CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                          size_t count, CUevent event) {
  return in_context([&] {
    const auto found = find_event(event);
    if (!found) return found.error();
    return add(node, graph, dependencies, count, Work(EventWork{.event = *found, .record = true}));
  });
}

FB_API CUresult cuGraphAddEventWaitNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                        CUevent event) {
  return in_context([&] {
    const auto found = find_event(event);
    if (!found) return found.error();
    return add(node, graph, dependencies, count, Work(EventWork{.event = *found, .record = false}));
  });
}

FB_API CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                       const CUgraphEdgeData*, size_t count) {
  return in_context([&] { return add_dependencies(graph, from, to, count); });
}

FB_API CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                          const CUgraphEdgeData*, size_t count) {
  return in_context([&] { return remove_dependencies(graph, from, to, count); });
}

FB_API CUresult cuGraphDestroyNode(CUgraphNode node) {
  return in_context([&] { return destroy_node(node); });
}

FB_API CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  return in_context([&] {
    const std::lock_guard lock(graph_lock());
    const auto found = find_node(node);
    if (!found) return found.error();
    if (!type) return cudaErrorInvalidValue;
    *type = static_cast<CUgraphNodeType>(type_of(**found));
    return cudaSuccess;
  });
}

FB_API CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* dependencies, CUgraphEdgeData*,
                                           size_t* count) {
  return in_context([&] {
    const std::lock_guard lock(graph_lock());
    const auto found = find_node(node);
    return found ? list_nodes((*found)->after, dependencies, count) : found.error();
  });
}

FB_API CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* dependents, CUgraphEdgeData*,
                                             size_t* count) {
  return in_context([&] {
    const std::lock_guard lock(graph_lock());
    const auto found = find_node(node);
    return found ? list_nodes(dependents_of(**found), dependents, count) : found.error();
  });
}

// Graphs

FB_API CUresult cuGraphCreate(CUgraph* graph, unsigned int flags) {
  return in_context([&] { return as_runtime([&] { return cudaGraphCreate(graph, flags); }); });
}

FB_API CUresult cuGraphDestroy(CUgraph graph) {
  return in_context([&] { return destroy_graph(graph); });
}

FB_API CUresult cuGraphClone(CUgraph* clone, CUgraph original) {
  return in_context([&] { return as_runtime([&] { return cudaGraphClone(clone, original); }); });
}

FB_API CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  return in_context([&] { return as_runtime([&] { return cudaGraphGetNodes(graph, nodes, count); }); });
}

FB_API CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  return in_context([&] {
    const std::lock_guard lock(graph_lock());
    const auto found = find_graph(graph);
    if (!found) return found.error();
    std::vector<GraphNode*> roots;
    for (const NodePtr& node : (*found)->nodes) {
      if (node->after.empty()) roots.push_back(node.get());
    }
    return list_nodes(roots, nodes, count);
  });
}

FB_API CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  return in_context([&] {
    if (!exec) return cudaErrorInvalidValue;
    return put(exec, instantiate(graph, flags));
  });
}

FB_API CUresult cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t* flags) {
  return in_context([&] {
    const std::lock_guard lock(graph_lock());
    const auto found = find_exec(exec);
    if (!found) return found.error();
    if (!flags) return cudaErrorInvalidValue;
    *flags = (*found)->flags;
    return cudaSuccess;
  });
}

FB_API CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
  return in_context([&] { return as_runtime([&] { return cudaGraphUpload(exec, stream); }); });
}

FB_API CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  return in_context([&] { return tell_launch(launch_graph(exec, stream), "the launch of a graph"); });
}

FB_API CUresult cuGraphExecDestroy(CUgraphExec exec) {
  return in_context([&] { return destroy_exec(exec); });
}

FB_API CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* result) {
  return in_context([&] {
    cudaGraphExecUpdateResultInfo info{};
    const Error e = update_exec(exec, graph, &info);
    if (result) *result = {static_cast<CUgraphExecUpdateResult>(info.result), info.errorNode, info.errorFromNode};
    return e;
  });
}

// User objects

FB_API CUresult cuUserObjectCreate(CUuserObject* object, void* pointer, CUhostFn destroy, unsigned int references,
                                   unsigned int flags) {
  return in_context(
      [&] { return as_runtime([&] { return cudaUserObjectCreate(object, pointer, destroy, references, flags); }); });
}

FB_API CUresult cuUserObjectRelease(CUuserObject object, unsigned int count) {
  return in_context([&] { return as_runtime([&] { return cudaUserObjectRelease(object, count); }); });
}

FB_API CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count, unsigned int flags) {
  return in_context([&] { return as_runtime([&] { return cudaGraphRetainUserObject(graph, object, count, flags); }); });
}
