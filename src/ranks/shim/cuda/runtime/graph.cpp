// Graphs: made, taken apart, looked at, instantiated, launched.

#include "ranks/shim/cuda/streams/graph.h"

#include <algorithm>

#include "ranks/shim/cuda/core/error_report.h"
#include "ranks/shim/cuda/core/export.h"
#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/streams/capture.h"

namespace shim = fb::shim;
using shim::record;

namespace {

cudaError_t clone(cudaGraph_t* into, cudaGraph_t original) {
  if (!into) return cudaErrorInvalidValue;
  const std::lock_guard lock(shim::graph_lock());
  const auto graph = shim::find_graph(original);
  if (!graph) return graph.error();
  const auto made = shim::clone_graph(**graph);
  shim::publish(made);
  *into = made->handle;
  return cudaSuccess;
}

cudaError_t find_in_clone(cudaGraphNode_t* into, cudaGraphNode_t original, cudaGraph_t clone_handle) {
  if (!into) return cudaErrorInvalidValue;
  const std::lock_guard lock(shim::graph_lock());
  const auto graph = shim::find_graph(clone_handle);
  if (!graph) return graph.error();
  for (const auto& node : (*graph)->nodes) {
    if (!original || node->original != original) continue;
    *into = node->handle;
    return cudaSuccess;
  }
  return cudaErrorInvalidValue;
}

cudaError_t list(cudaGraph_t handle, cudaGraphNode_t* into, size_t* count, bool roots_only) {
  const std::lock_guard lock(shim::graph_lock());
  const auto graph = shim::find_graph(handle);
  if (!graph) return graph.error();
  std::vector<shim::GraphNode*> nodes;
  for (const auto& node : (*graph)->nodes) {
    if (!roots_only || node->after.empty()) nodes.push_back(node.get());
  }
  return shim::list_nodes(nodes, into, count);
}

cudaError_t list_edges(cudaGraph_t handle, cudaGraphNode_t* from, cudaGraphNode_t* to, cudaGraphEdgeData* edges,
                       size_t* count) {
  if (!count || (from == nullptr) != (to == nullptr)) return cudaErrorInvalidValue;
  const std::lock_guard lock(shim::graph_lock());
  const auto graph = shim::find_graph(handle);
  if (!graph) return graph.error();
  size_t total = 0;
  for (const auto& node : (*graph)->nodes) {
    for (const auto* before : node->after) {
      if (from && total < *count) {
        from[total] = before->handle;
        to[total] = node->handle;
        if (edges) edges[total] = {};
      }
      ++total;
    }
  }
  for (size_t k = total; from && k < *count; ++k) from[k] = to[k] = nullptr;
  *count = from ? std::min(*count, total) : total;
  return cudaSuccess;
}

cudaError_t list_neighbours(cudaGraphNode_t handle, cudaGraphNode_t* into, cudaGraphEdgeData* edges, size_t* count,
                            bool before) {
  const std::lock_guard lock(shim::graph_lock());
  const auto node = shim::find_node(handle);
  if (!node) return node.error();
  const auto nodes = before ? (*node)->after : shim::dependents_of(**node);
  const auto e = shim::list_nodes(nodes, into, count);
  if (e == cudaSuccess && into && edges) std::fill_n(edges, *count, cudaGraphEdgeData{});
  return e;
}

cudaError_t make_exec(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  if (!exec) return cudaErrorInvalidValue;
  const auto made = shim::instantiate(graph, flags);
  if (!made) return made.error();
  *exec = *made;
  return cudaSuccess;
}

cudaError_t create_object(cudaUserObject_t* object, void* pointer, cudaHostFn_t destroy, unsigned int references,
                          unsigned int flags) {
  if (!object || !destroy || references == 0 || flags != cudaUserObjectNoDestructorSync) return cudaErrorInvalidValue;
  auto made = std::make_shared<shim::UserObject>();
  made->pointer = pointer;
  made->destroy = destroy;
  made->references = references;
  *object = shim::user_objects().add(std::move(made));
  return cudaSuccess;
}

cudaError_t retain_in_graph(cudaGraph_t graph_handle, cudaUserObject_t object_handle, unsigned int count,
                            unsigned int flags) {
  const std::lock_guard lock(shim::graph_lock());
  const auto graph = shim::find_graph(graph_handle);
  const auto object = shim::user_objects().find(object_handle);
  if (!graph || !object || count == 0 || flags > cudaGraphUserObjectMove) return cudaErrorInvalidValue;
  if (flags != cudaGraphUserObjectMove) object->references += count;
  (*graph)->objects.emplace_back(object, count);
  return cudaSuccess;
}

cudaError_t release_from_graph(cudaGraph_t graph_handle, cudaUserObject_t object_handle, unsigned int count) {
  const std::lock_guard lock(shim::graph_lock());
  const auto graph = shim::find_graph(graph_handle);
  const auto object = shim::user_objects().find(object_handle);
  if (!graph || !object || count == 0) return cudaErrorInvalidValue;
  for (auto& [held, references] : (*graph)->objects) {
    if (held != object || references < count) continue;
    references -= count;
    object->release(count);
    return cudaSuccess;
  }
  return cudaErrorInvalidValue;
}

}  // namespace

FB_API cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int flags) {
  if (!graph || flags != 0) return record(cudaErrorInvalidValue);
  if (const auto e = shim::Session::get().connect(); e != cudaSuccess) return record(e);
  const std::lock_guard lock(shim::graph_lock());
  *graph = shim::make_graph()->handle;
  return cudaSuccess;
}
FB_API cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return record(shim::destroy_graph(graph)); }
FB_API cudaError_t cudaGraphClone(cudaGraph_t* into, cudaGraph_t original) { return record(clone(into, original)); }
FB_API cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* node, cudaGraphNode_t original, cudaGraph_t graph) {
  return record(find_in_clone(node, original, graph));
}
FB_API cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return record(list(graph, nodes, count, false));
}
FB_API cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return record(list(graph, nodes, count, true));
}
FB_API cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                                     cudaGraphEdgeData* edges, size_t* count) {
  return record(list_edges(graph, from, to, edges, count));
}
FB_API cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* dependencies,
                                                cudaGraphEdgeData* edges, size_t* count) {
  return record(list_neighbours(node, dependencies, edges, count, true));
}
FB_API cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* dependents,
                                                  cudaGraphEdgeData* edges, size_t* count) {
  return record(list_neighbours(node, dependents, edges, count, false));
}
FB_API cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                            const cudaGraphEdgeData*, size_t count) {
  return record(shim::add_dependencies(graph, from, to, count));
}
FB_API cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                               const cudaGraphNode_t* to, const cudaGraphEdgeData*, size_t count) {
  return record(shim::remove_dependencies(graph, from, to, count));
}
FB_API cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) { return record(shim::destroy_node(node)); }
FB_API cudaError_t cudaGraphNodeGetType(cudaGraphNode_t handle, cudaGraphNodeType* type) {
  const std::lock_guard lock(shim::graph_lock());
  const auto node = shim::find_node(handle);
  if (!node || !type) return record(cudaErrorInvalidValue);
  *type = shim::type_of(**node);
  return cudaSuccess;
}

FB_API cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  return record(make_exec(exec, graph, flags));
}
FB_API cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  return record(make_exec(exec, graph, flags));
}
FB_API cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* exec, cudaGraph_t graph,
                                                  cudaGraphInstantiateParams* parameters) {
  if (!parameters) return record(cudaErrorInvalidValue);
  const auto e = make_exec(exec, graph, parameters->flags);
  parameters->errNode_out = nullptr;
  parameters->result_out = e == cudaSuccess ? cudaGraphInstantiateSuccess : cudaGraphInstantiateError;
  return record(e);
}
FB_API cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t handle, unsigned long long* flags) {
  const auto exec = shim::find_exec(handle);
  if (!exec || !flags) return record(cudaErrorInvalidValue);
  *flags = (*exec)->flags;
  return cudaSuccess;
}
// Instantiation has sent it already.
FB_API cudaError_t cudaGraphUpload(cudaGraphExec_t handle, cudaStream_t stream) {
  const auto exec = shim::find_exec(handle);
  if (!exec) return record(exec.error());
  const auto found = shim::find_stream(stream);
  return record(found ? cudaSuccess : found.error());
}
FB_API cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  return shim::record_launch(shim::launch_graph(exec, stream), "the launch of a graph");
}
FB_API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) { return record(shim::destroy_exec(exec)); }
FB_API cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* result) {
  return record(shim::update_exec(exec, graph, result));
}

FB_API cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* pointer, cudaHostFn_t destroy,
                                        unsigned int references, unsigned int flags) {
  return record(create_object(object, pointer, destroy, references, flags));
}
FB_API cudaError_t cudaUserObjectRetain(cudaUserObject_t handle, unsigned int count) {
  const std::lock_guard lock(shim::graph_lock());
  const auto object = shim::user_objects().find(handle);
  if (!object || count == 0) return record(cudaErrorInvalidValue);
  object->references += count;
  return cudaSuccess;
}
FB_API cudaError_t cudaUserObjectRelease(cudaUserObject_t handle, unsigned int count) {
  const std::lock_guard lock(shim::graph_lock());
  const auto object = shim::user_objects().find(handle);
  if (!object || count == 0) return record(cudaErrorInvalidValue);
  object->release(count);
  if (object->references == 0) shim::user_objects().take(handle);
  return cudaSuccess;
}
FB_API cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count,
                                             unsigned int flags) {
  return record(retain_in_graph(graph, object, count, flags));
}
FB_API cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count) {
  return record(release_from_graph(graph, object, count));
}
