#include "ranks/shim/cuda/streams/graph.h"

#include <algorithm>

#include "ranks/shim/cuda/core/session.h"

namespace fb::shim {
namespace {

Expected<std::vector<GraphNode*>> read_nodes(const Graph& graph, const cudaGraphNode_t* handles, size_t count) {
  if (count > 0 && !handles) return failure(cudaErrorInvalidValue);
  std::vector<GraphNode*> nodes;
  for (size_t k = 0; k < count; ++k) {
    const auto node = find_node(handles[k]);
    if (!node || (*node)->graph != &graph) return failure(cudaErrorInvalidValue);
    nodes.push_back(node->get());
  }
  return nodes;
}

// A child graph is copied into its node; bodies belong to it already.
void own_child(Work& work) {
  if (auto* child = std::get_if<ChildWork>(&work)) child->graph = clone_graph(*child->graph);
  for_each_inner(work, [](const GraphPtr& graph) {
    graph->is_child = true;
    publish(graph);
  });
}

struct Conditionals {
  std::map<cudaGraphConditionalHandle, ConditionalDefault> defaults;
  cudaGraphConditionalHandle next = 1;
};
Conditionals& conditionals() {
  static auto* const all = new Conditionals;
  return *all;
}

}  // namespace

void UserObject::release(unsigned int count) {
  const bool last = count >= references;
  references = last ? 0 : references - count;
  if (last && destroy) destroy(pointer);
}

Graph::~Graph() {
  const std::lock_guard lock(graph_lock());
  for (const auto& node : nodes) {
    if (node->handle) graph_nodes().take(node->handle);
    for_each_inner(node->work, [](const GraphPtr& inner) {
      if (inner->handle) graphs().take(inner->handle);
    });
    node->graph = nullptr;
  }
  for (const auto& [object, count] : objects) object->release(count);
}

Registry<cudaGraph_t, Graph>& graphs() {
  static auto* const all = new Registry<cudaGraph_t, Graph>;
  return *all;
}
Registry<cudaGraphNode_t, GraphNode>& graph_nodes() {
  static auto* const all = new Registry<cudaGraphNode_t, GraphNode>;
  return *all;
}
Registry<cudaUserObject_t, UserObject>& user_objects() {
  static auto* const all = new Registry<cudaUserObject_t, UserObject>;
  return *all;
}

std::recursive_mutex& graph_lock() {
  static auto* const mutex = new std::recursive_mutex;
  return *mutex;
}

Expected<GraphPtr> find_graph(cudaGraph_t handle) {
  if (auto graph = graphs().find(handle)) return graph;
  return failure(cudaErrorInvalidValue);
}

Expected<NodePtr> find_node(cudaGraphNode_t handle) {
  if (auto node = graph_nodes().find(handle)) return node;
  return failure(cudaErrorInvalidValue);
}

GraphPtr make_graph() {
  auto graph = std::make_shared<Graph>();
  graph->handle = graphs().add(graph);
  return graph;
}

void publish(const GraphPtr& graph) {
  graph->handle = graphs().add(graph);
  for (const auto& node : graph->nodes) {
    node->handle = graph_nodes().add(node);
    for_each_inner(node->work, [](const GraphPtr& inner) {
      inner->is_child = true;
      publish(inner);
    });
  }
}

NodePtr append_node(Graph& graph, int device, std::vector<GraphNode*> after, Work work) {
  const std::lock_guard lock(graph_lock());
  auto node = std::make_shared<GraphNode>();
  node->graph = &graph;
  node->device = device;
  node->after = std::move(after);
  node->work = std::move(work);
  own_child(node->work);
  node->handle = graph_nodes().add(node);
  graph.nodes.push_back(node);
  return node;
}

Expected<cudaGraphNode_t> add_node(cudaGraph_t handle, const cudaGraphNode_t* after, size_t count, Work work) {
  const std::lock_guard lock(graph_lock());
  const auto graph = find_graph(handle);
  if (!graph) return failure(graph.error());
  const auto dependencies = read_nodes(**graph, after, count);
  if (!dependencies) return failure(dependencies.error());
  for (size_t k = 0; k < dependencies->size(); ++k) {
    if (std::count(dependencies->begin(), dependencies->end(), (*dependencies)[k]) > 1)
      return failure(cudaErrorInvalidValue);
  }
  return append_node(**graph, thread().device, *dependencies, std::move(work))->handle;
}

Error add_dependencies(cudaGraph_t handle, const cudaGraphNode_t* from, const cudaGraphNode_t* to, size_t count) {
  const std::lock_guard lock(graph_lock());
  const auto graph = find_graph(handle);
  if (!graph) return graph.error();
  const auto begins = read_nodes(**graph, from, count);
  if (!begins) return begins.error();
  const auto ends = read_nodes(**graph, to, count);
  if (!ends) return ends.error();
  for (size_t k = 0; k < count; ++k) {
    auto& after = (*ends)[k]->after;
    if ((*begins)[k] == (*ends)[k] || std::ranges::find(after, (*begins)[k]) != after.end())
      return cudaErrorInvalidValue;
    after.push_back((*begins)[k]);
  }
  return cudaSuccess;
}

Error remove_dependencies(cudaGraph_t handle, const cudaGraphNode_t* from, const cudaGraphNode_t* to, size_t count) {
  const std::lock_guard lock(graph_lock());
  const auto graph = find_graph(handle);
  if (!graph) return graph.error();
  const auto begins = read_nodes(**graph, from, count);
  if (!begins) return begins.error();
  const auto ends = read_nodes(**graph, to, count);
  if (!ends) return ends.error();
  for (size_t k = 0; k < count; ++k) {
    if (std::erase((*ends)[k]->after, (*begins)[k]) == 0) return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

Error destroy_node(cudaGraphNode_t handle) {
  const std::lock_guard lock(graph_lock());
  const auto node = find_node(handle);
  if (!node) return node.error();
  Graph& graph = *(*node)->graph;
  for (const auto& other : graph.nodes) std::erase(other->after, node->get());
  for_each_inner((*node)->work, [](const GraphPtr& inner) { graphs().take(inner->handle); });
  graph_nodes().take(handle);
  std::erase(graph.nodes, *node);
  return cudaSuccess;
}

Error destroy_graph(cudaGraph_t handle) {
  const std::lock_guard lock(graph_lock());
  const auto graph = find_graph(handle);
  if (!graph) return graph.error();
  if ((*graph)->is_child) return cudaErrorInvalidValue;
  graphs().take(handle);
  return cudaSuccess;
}

GraphPtr clone_graph(const Graph& graph) {
  const std::lock_guard lock(graph_lock());
  auto clone = std::make_shared<Graph>();
  std::map<const GraphNode*, GraphNode*> copies;
  for (const auto& node : graph.nodes) {
    auto copy = std::make_shared<GraphNode>(*node);
    copy->handle = nullptr;
    copy->graph = clone.get();
    copy->original = node->handle;
    for_each_inner(copy->work, [](GraphPtr& inner) { inner = clone_graph(*inner); });
    copies[node.get()] = copy.get();
    clone->nodes.push_back(std::move(copy));
  }
  for (const auto& node : clone->nodes) {
    for (GraphNode*& after : node->after) after = copies[after];
  }
  clone->objects = graph.objects;
  for (const auto& [object, count] : clone->objects) object->references += count;
  return clone;
}

cudaGraphNodeType type_of(const GraphNode& node) {
  constexpr int kBatchOfMemoryOperations = 12;  // the driver API alone makes these
  struct Type {
    cudaGraphNodeType operator()(const EmptyWork&) const { return cudaGraphNodeTypeEmpty; }
    cudaGraphNodeType operator()(const KernelWork&) const { return cudaGraphNodeTypeKernel; }
    cudaGraphNodeType operator()(const CopyWork&) const { return cudaGraphNodeTypeMemcpy; }
    cudaGraphNodeType operator()(const MemsetWork&) const { return cudaGraphNodeTypeMemset; }
    cudaGraphNodeType operator()(const HostWork&) const { return cudaGraphNodeTypeHost; }
    cudaGraphNodeType operator()(const EventWork& work) const {
      return work.record ? cudaGraphNodeTypeEventRecord : cudaGraphNodeTypeWaitEvent;
    }
    cudaGraphNodeType operator()(const ValueWork&) const {
      return static_cast<cudaGraphNodeType>(kBatchOfMemoryOperations);
    }
    cudaGraphNodeType operator()(const ChildWork&) const { return cudaGraphNodeTypeGraph; }
    cudaGraphNodeType operator()(const ConditionalWork&) const { return cudaGraphNodeTypeConditional; }
    cudaGraphNodeType operator()(const MemoryWork& work) const {
      return work.frees ? cudaGraphNodeTypeMemFree : cudaGraphNodeTypeMemAlloc;
    }
    cudaGraphNodeType operator()(const CollectiveWork&) const { return cudaGraphNodeTypeKernel; }
    cudaGraphNodeType operator()(const BlasWork&) const { return cudaGraphNodeTypeKernel; }
  };
  return std::visit(Type{}, node.work);
}

cudaGraphConditionalHandle make_conditional(const ConditionalDefault& initial) {
  const std::lock_guard lock(graph_lock());
  conditionals().defaults[conditionals().next] = initial;
  return conditionals().next++;
}

Expected<ConditionalDefault> find_conditional(cudaGraphConditionalHandle handle) {
  const std::lock_guard lock(graph_lock());
  const auto found = conditionals().defaults.find(handle);
  if (found == conditionals().defaults.end()) return failure(cudaErrorInvalidValue);
  return found->second;
}

Expected<Work> conditional_work(cudaGraphConditionalHandle handle, cudaGraphConditionalNodeType type,
                                unsigned int bodies) {
  if (const auto known = find_conditional(handle); !known) return failure(known.error());
  const unsigned int most = type == cudaGraphCondTypeIf ? 2 : type == cudaGraphCondTypeWhile ? 1 : 1024;
  if (type < cudaGraphCondTypeIf || type > cudaGraphCondTypeSwitch || bodies == 0 || bodies > most)
    return failure(cudaErrorInvalidValue);
  ConditionalWork work{.handle = handle, .type = type, .bodies = {}, .handles = nullptr};
  for (unsigned int k = 0; k < bodies; ++k) work.bodies.push_back(std::make_shared<Graph>());
  return work;
}

Error list_nodes(std::span<GraphNode* const> nodes, cudaGraphNode_t* into, size_t* count) {
  if (!count) return cudaErrorInvalidValue;
  if (into) {
    for (size_t k = 0; k < *count; ++k) into[k] = k < nodes.size() ? nodes[k]->handle : nullptr;
    *count = std::min(*count, nodes.size());
  } else {
    *count = nodes.size();
  }
  return cudaSuccess;
}

std::vector<GraphNode*> dependents_of(const GraphNode& node) {
  std::vector<GraphNode*> list;
  for (const auto& other : node.graph->nodes) {
    if (std::ranges::find(other->after, &node) != other->after.end()) list.push_back(other.get());
  }
  return list;
}

Expected<std::vector<GraphNode*>> sorted_nodes(const Graph& graph) {
  std::vector<GraphNode*> sorted;
  std::map<const GraphNode*, size_t> waits_for;
  std::map<const GraphNode*, std::vector<GraphNode*>> unlocks;
  for (const auto& node : graph.nodes) {
    waits_for[node.get()] = node->after.size();
    for (const GraphNode* before : node->after) unlocks[before].push_back(node.get());
    if (node->after.empty()) sorted.push_back(node.get());
  }
  for (size_t k = 0; k < sorted.size(); ++k) {
    for (GraphNode* next : unlocks[sorted[k]]) {
      if (--waits_for[next] == 0) sorted.push_back(next);
    }
  }
  if (sorted.size() != graph.nodes.size()) return failure(cudaErrorInvalidValue);
  return sorted;
}

Error set_node(cudaGraphNode_t handle, Work work) {
  const std::lock_guard lock(graph_lock());
  const auto node = find_node(handle);
  if (!node) return node.error();
  if ((*node)->work.index() != work.index()) return cudaErrorInvalidValue;
  (*node)->work = std::move(work);
  return cudaSuccess;
}

}  // namespace fb::shim
