#pragma once

// Graphs live in this process as nodes and dependencies; a graph that is instantiated is sent whole.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "ranks/shim/cuda/core/error.h"
#include "ranks/shim/cuda/core/registry.h"
#include "ranks/shim/cuda/streams/work.h"

namespace fb::shim {

struct GraphNode {
  cudaGraphNode_t handle = nullptr;
  Graph* graph = nullptr;
  int device = 0;
  Work work;
  std::vector<GraphNode*> after;  // what it depends on, in the order of the edges
  bool enabled = true;
  bool captured = false;               // from work of a stream, not by a call that adds nodes
  cudaGraphNode_t original = nullptr;  // what a node of a clone was made from
};
using NodePtr = std::shared_ptr<GraphNode>;

struct UserObject {
  void* pointer = nullptr;
  cudaHostFn_t destroy = nullptr;
  unsigned int references = 0;

  // Gives references up; the last one calls `destroy`.
  void release(unsigned int count);
};

struct Graph {
  cudaGraph_t handle = nullptr;
  std::vector<NodePtr> nodes;  // in the order of creation
  std::vector<std::pair<std::shared_ptr<UserObject>, unsigned int>> objects;
  bool is_child = false;  // owned by a node: the program may not destroy it

  ~Graph();
};
using GraphPtr = std::shared_ptr<Graph>;

// A graph as it was when it was instantiated, and the machine's copy of it.
struct GraphExec {
  GraphPtr graph;  // a clone: its nodes know their originals
  int device = 0;
  unsigned long long flags = 0;
  wire::Id id = 0;
  bool stale = true;  // not sent, or changed since
  std::vector<uint64_t> callbacks;
  std::vector<void*> staging;
  std::vector<wire::Id> bodies;  // of conditional nodes

  ~GraphExec();
};
using GraphExecPtr = std::shared_ptr<GraphExec>;

Registry<cudaGraph_t, Graph>& graphs();
Registry<cudaGraphExec_t, GraphExec>& graph_execs();
Registry<cudaGraphNode_t, GraphNode>& graph_nodes();
Registry<cudaUserObject_t, UserObject>& user_objects();

// Guards graphs, their nodes and all that captures. Work on streams takes it only while something captures.
std::recursive_mutex& graph_lock();

// All of these under graph_lock(); the functions take it themselves.
Expected<GraphPtr> find_graph(cudaGraph_t handle);
Expected<NodePtr> find_node(cudaGraphNode_t handle);
Expected<GraphExecPtr> find_exec(cudaGraphExec_t handle);

GraphPtr make_graph();
// Gives a graph and its nodes handles.
void publish(const GraphPtr& graph);
Expected<cudaGraphNode_t> add_node(cudaGraph_t graph, const cudaGraphNode_t* after, size_t count, Work work);
NodePtr append_node(Graph& graph, int device, std::vector<GraphNode*> after, Work work);
Error add_dependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to, size_t count);
Error remove_dependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to, size_t count);
Error destroy_node(cudaGraphNode_t node);
Error destroy_graph(cudaGraph_t graph);
// Without handles; its nodes know what they were made from.
GraphPtr clone_graph(const Graph& graph);
cudaGraphNodeType type_of(const GraphNode& node);
// Node and dependency lists as CUDA returns them: `count` says how many fit, and then how many there are.
Error list_nodes(std::span<GraphNode* const> nodes, cudaGraphNode_t* into, size_t* count);
std::vector<GraphNode*> dependents_of(const GraphNode& node);
// The nodes so that each comes behind what it depends on. cudaErrorInvalidValue: there is a cycle.
Expected<std::vector<GraphNode*>> sorted_nodes(const Graph& graph);

// The value that the handle has at each launch of the graph, if the flags say so.
struct ConditionalDefault {
  unsigned int value = 0, flags = 0;
};
cudaGraphConditionalHandle make_conditional(const ConditionalDefault& initial);
Expected<ConditionalDefault> find_conditional(cudaGraphConditionalHandle handle);
Expected<Work> conditional_work(cudaGraphConditionalHandle handle, cudaGraphConditionalNodeType type,
                                unsigned int bodies);
// Calls `f` with each graph inside the node.
template <class F>
void for_each_inner(Work& work, F f) {
  if (auto* child = std::get_if<ChildWork>(&work)) f(child->graph);
  if (auto* conditional = std::get_if<ConditionalWork>(&work)) std::ranges::for_each(conditional->bodies, f);
}
template <class F>
void for_each_inner(const Work& work, F f) {
  if (const auto* child = std::get_if<ChildWork>(&work)) f(child->graph);
  if (const auto* conditional = std::get_if<ConditionalWork>(&work)) std::ranges::for_each(conditional->bodies, f);
}

Expected<cudaGraphExec_t> instantiate(cudaGraph_t graph, unsigned long long flags);
Error launch_graph(cudaGraphExec_t exec, cudaStream_t stream);
Error destroy_exec(cudaGraphExec_t exec);
Error update_exec(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* result);
// The node of the exec's own copy.
Expected<GraphNode*> exec_node(GraphExec& exec, cudaGraphNode_t original);
// Replaces the work of one node, which keeps its type.
Error set_exec_node(cudaGraphExec_t exec, cudaGraphNode_t original, Work work);
Error set_node(cudaGraphNode_t node, Work work);

}  // namespace fb::shim
