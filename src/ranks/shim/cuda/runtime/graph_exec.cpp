// Nodes of instantiated graphs: changed before the next launch.

#include <mutex>

#include "ranks/shim/cuda/core/error_report.h"
#include "ranks/shim/cuda/core/export.h"
#include "ranks/shim/cuda/runtime/graph_work.h"
#include "ranks/shim/cuda/streams/capture.h"
#include "ranks/shim/cuda/streams/graph.h"

namespace shim = fb::shim;
using shim::record;

namespace {

cudaError_t set(cudaGraphExec_t exec, cudaGraphNode_t node, shim::Expected<shim::Work> work) {
  return work ? shim::set_exec_node(exec, node, std::move(*work)) : work.error();
}

// The exec's own child graph takes over the work of one of the same shape.
cudaError_t set_child(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child) {
  const std::lock_guard lock(shim::graph_lock());
  const auto graph = shim::find_graph(child);
  if (!graph) return graph.error();
  return shim::set_exec_node(exec, node, shim::ChildWork{.graph = shim::clone_graph(**graph)});
}

shim::Expected<shim::GraphNode*> find(cudaGraphExec_t handle, cudaGraphNode_t node) {
  const auto exec = shim::find_exec(handle);
  if (!exec) return shim::failure(exec.error());
  return shim::exec_node(**exec, node);
}

}  // namespace

FB_API cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                    const cudaKernelNodeParams* parameters) {
  return record(set(exec, node, shim::to_work(parameters)));
}
FB_API cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                    const cudaMemcpy3DParms* parameters) {
  return record(set(exec, node, shim::to_work(parameters)));
}
FB_API cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void* to,
                                                      const void* from, size_t bytes, cudaMemcpyKind kind) {
  return record(set(exec, node, shim::copy_work(to, from, bytes, kind)));
}
FB_API cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                    const cudaMemsetParams* parameters) {
  return record(set(exec, node, shim::to_work(parameters)));
}
FB_API cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                  const cudaHostNodeParams* parameters) {
  return record(set(exec, node, shim::to_work(parameters)));
}
FB_API cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child) {
  return record(set_child(exec, node, child));
}
FB_API cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event) {
  return record(set(exec, node, shim::event_work(event, true)));
}
FB_API cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event) {
  return record(set(exec, node, shim::event_work(event, false)));
}
FB_API cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                              cudaGraphNodeParams* parameters) {
  if (parameters && parameters->type == cudaGraphNodeTypeGraph)
    return record(set_child(exec, node, parameters->graph.graph));
  return record(set(exec, node, shim::to_work(parameters)));
}
FB_API cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                            const void* symbol, const void* from, size_t bytes,
                                                            size_t offset, cudaMemcpyKind kind) {
  return record(set(exec, node, shim::copy_to_symbol_work(symbol, from, bytes, offset, kind)));
}
FB_API cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t exec, cudaGraphNode_t node, void* to,
                                                              const void* symbol, size_t bytes, size_t offset,
                                                              cudaMemcpyKind kind) {
  return record(set(exec, node, shim::copy_from_symbol_work(to, symbol, bytes, offset, kind)));
}

FB_API cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t handle, unsigned int enabled) {
  const std::lock_guard lock(shim::graph_lock());
  const auto node = find(exec, handle);
  if (!node) return record(node.error());
  const auto type = shim::type_of(**node);
  if (type != cudaGraphNodeTypeKernel && type != cudaGraphNodeTypeMemcpy && type != cudaGraphNodeTypeMemset)
    return record(cudaErrorInvalidValue);
  (*node)->enabled = enabled != 0;
  (*shim::find_exec(exec))->stale = true;
  return cudaSuccess;
}
FB_API cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t handle, unsigned int* enabled) {
  const std::lock_guard lock(shim::graph_lock());
  const auto node = find(exec, handle);
  if (!node || !enabled) return record(cudaErrorInvalidValue);
  *enabled = (*node)->enabled ? 1 : 0;
  return cudaSuccess;
}
