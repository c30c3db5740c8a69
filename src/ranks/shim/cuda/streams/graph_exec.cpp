// Instantiated graphs: written down for the machine, launched, changed.

#include <algorithm>
#include <cstring>

#include "ranks/shim/cuda/core/callbacks.h"
#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/memory/copy.h"
#include "ranks/shim/cuda/memory/host_memory.h"
#include "ranks/shim/cuda/memory/host_ranges.h"
#include "ranks/shim/cuda/memory/packed_box.h"
#include "ranks/shim/cuda/memory/send_copy.h"
#include "ranks/shim/cuda/modules/launch.h"
#include "ranks/shim/cuda/streams/capture.h"
#include "ranks/shim/cuda/streams/graph.h"
#include "ranks/shim/cuda/streams/graph_memory.h"
#include "ranks/shim/cuda/streams/wire_work.h"

namespace fb::shim {
namespace {

// Writes a graph as the machine wants it: one flat list, each node behind those it depends on.
class Writer {
 public:
  explicit Writer(GraphExec& exec) : exec_(exec) {}

  Error write(const Graph& graph) {
    std::vector<uint32_t> ends;
    if (const Error e = add_graph(graph, {}, ends); e != cudaSuccess) return e;
    return send(true);
  }

  wire::Id id() const { return id_; }

 private:
  // `ends`: the nodes that nothing else in this graph depends on.
  Error add_graph(const Graph& graph, const std::vector<uint32_t>& before, std::vector<uint32_t>& ends) {
    const auto sorted = sorted_nodes(graph);
    if (!sorted) return sorted.error();
    std::map<const GraphNode*, uint32_t> numbers;
    for (const GraphNode* node : *sorted) {
      std::vector<uint32_t> after;
      for (const GraphNode* other : node->after) after.push_back(numbers[other]);
      if (after.empty()) after = before;
      const auto number = add(*node, after);
      if (!number) return number.error();
      numbers[node] = *number;
    }
    for (const GraphNode* node : *sorted) {
      const bool last = std::ranges::none_of(
          *sorted, [&](const GraphNode* other) { return std::ranges::find(other->after, node) != other->after.end(); });
      if (last) ends.push_back(numbers[node]);
    }
    return cudaSuccess;
  }

  Expected<uint32_t> add(const GraphNode& node, const std::vector<uint32_t>& after) {
    if (!node.enabled) return emit(wire::Kind::none, nullptr, 0, {}, after);
    const wire::StreamRef stream{.stream = 0, .device = static_cast<uint32_t>(node.device), .zero = 0};
    if (const auto* kernel = std::get_if<KernelWork>(&node.work)) return add_kernel(*kernel, after);
    if (const auto* box = std::get_if<CopyWork>(&node.work)) return add_copy(*box, stream, after);
    if (const auto* box = std::get_if<MemsetWork>(&node.work))
      return emit(wire::Kind::memset, to_wire(*box, stream), after);
    if (const auto* host = std::get_if<HostWork>(&node.work))
      return add_host([work = *host] { work.function(work.data); }, stream, after);
    if (const auto* event = std::get_if<EventWork>(&node.work)) {
      return emit(event->record ? wire::Kind::event_record : wire::Kind::event_depend,
                  wire::EventOnStream{.stream = stream, .event = event->event->id}, after);
    }
    if (const auto* value = std::get_if<ValueWork>(&node.work)) {
      return emit(value->write ? wire::Kind::stream_write_value : wire::Kind::stream_wait_value,
                  to_wire(*value, stream), after);
    }
    if (const auto* child = std::get_if<ChildWork>(&node.work)) {
      std::vector<uint32_t> ends;
      if (const Error e = add_graph(*child->graph, after, ends); e != cudaSuccess) return failure(e);
      return emit(wire::Kind::none, nullptr, 0, {}, ends.empty() ? after : ends);
    }
    if (const auto* collective = std::get_if<CollectiveWork>(&node.work)) {
      wire::Collective body = collective->request;
      body.stream = stream;
      body.more_streams = 0;
      return emit(wire::Kind::collective, &body, sizeof body, collective->calls, after);
    }
    if (const auto* blas = std::get_if<BlasWork>(&node.work)) {
      wire::Blas body = blas->request;
      body.stream = stream;
      return emit(wire::Kind::blas, &body, sizeof body, {}, after);
    }
    if (const auto* conditional = std::get_if<ConditionalWork>(&node.work))
      return add_conditional(*conditional, stream, after);
    return emit(wire::Kind::none, nullptr, 0, {}, after);
  }

  // Its bodies are graphs of their own, which the machine gets first.
  Expected<uint32_t> add_conditional(const ConditionalWork& work, wire::StreamRef stream,
                                     const std::vector<uint32_t>& after) {
    const auto initial = find_conditional(work.handle);
    if (!initial) return failure(initial.error());
    std::vector<wire::Id> bodies;
    for (const GraphPtr& graph : work.bodies) {
      Writer body(exec_);
      if (const Error e = body.write(*graph); e != cudaSuccess) return failure(e);
      bodies.push_back(body.id());
      exec_.bodies.push_back(body.id());
    }
    const wire::GraphConditional body{.stream = stream,
                                      .handle = work.handle,
                                      .type = static_cast<wire::ConditionalType>(work.type),
                                      .bodies = static_cast<uint32_t>(bodies.size()),
                                      .initial = initial->value,
                                      .assigned = initial->flags & cudaGraphCondAssignDefault};
    return emit(wire::Kind::graph_conditional, &body, sizeof body, std::as_bytes(std::span(bodies)), after);
  }

  Expected<uint32_t> add_kernel(const KernelWork& kernel, const std::vector<uint32_t>& after) {
    const auto info = kernel.function->info(kernel.device);
    if (!info) return failure(info.error());
    const wire::StreamRef stream{.stream = 0, .device = static_cast<uint32_t>(kernel.device), .zero = 0};
    const wire::Launch body = to_wire(kernel, stream, info->facts.function);
    return emit(wire::Kind::launch, &body, sizeof body, kernel.params, after);
  }

  Expected<uint32_t> add_host(std::function<void()> run, wire::StreamRef stream, const std::vector<uint32_t>& after) {
    const auto number = add_callback(std::move(run), false);
    if (!number) return failure(number.error());
    exec_.callbacks.push_back(*number);
    return emit(wire::Kind::callback, wire::Callback{.stream = stream, .callback = *number}, after);
  }

  // Pageable memory is read and written when the graph runs, by this process: through pinned memory of the graph's own.
  Expected<uint32_t> add_copy(const CopyWork& box, wire::StreamRef stream, const std::vector<uint32_t>& after) {
    const bool from_pageable = memory_type_of(box.from) == MemoryType::pageable;
    const bool to_pageable = memory_type_of(box.to) == MemoryType::pageable;
    if (from_pageable && to_pageable) return add_host([box] { copy_box(box); }, stream, after);
    if (!from_pageable && !to_pageable) return emit(wire::Kind::copy, to_wire(box, stream), after);

    const auto made = allocate_host_always(box_bytes(box), wire::MemoryKind::host, 0);
    if (!made) return failure(made.error());
    exec_.staging.push_back(*made);
    auto* const staging = static_cast<std::byte*>(*made);
    CopyWork staged = box;
    if (from_pageable) {
      const auto packed = add_host([box, staging] { pack(box, staging); }, stream, after);
      if (!packed) return packed;
      staged.from = staging;
      staged.from_pitch = box.width;
      staged.from_plane = box.width * box.height;
      return emit(wire::Kind::copy, to_wire(staged, stream), {*packed});
    }
    staged.to = staging;
    staged.to_pitch = box.width;
    staged.to_plane = box.width * box.height;
    const auto copied = emit(wire::Kind::copy, to_wire(staged, stream), after);
    if (!copied) return copied;
    return add_host([box, staging] { unpack(box, staging); }, stream, {*copied});
  }

  template <class Body>
  Expected<uint32_t> emit(wire::Kind kind, const Body& body, const std::vector<uint32_t>& after) {
    return emit(kind, &body, sizeof body, {}, after);
  }

  Expected<uint32_t> emit(wire::Kind kind, const void* body, size_t body_bytes, std::span<const std::byte> blob,
                          const std::vector<uint32_t>& after) {
    wire::GraphNodeHeader node;
    node.kind = kind;
    node.body = static_cast<uint32_t>(body_bytes);
    node.blob = static_cast<uint32_t>(blob.size());
    node.dependencies = static_cast<uint32_t>(after.size());
    const size_t bytes = sizeof node + body_bytes + blob.size() + after.size() * sizeof(uint32_t);
    if (buffer_.size() + bytes > wire::kLargestBlob) {
      if (const Error e = send(false); e != cudaSuccess) return failure(e);
    }
    append(&node, sizeof node);
    append(body, body_bytes);
    append(blob.data(), blob.size());
    append(after.data(), after.size() * sizeof(uint32_t));
    ++buffered_;
    return total_++;
  }

  void append(const void* from, size_t bytes) {
    const auto* first = static_cast<const std::byte*>(from);
    buffer_.insert(buffer_.end(), first, first + bytes);
  }

  Error send(bool last) {
    wire::Handle made;
    const wire::GraphCreate request{.graph = id_, .nodes = buffered_, .last = last ? 1u : 0u};
    const Error e = call_on<wire::Kind::graph_create>(exec_.device, request, &made, buffer_);
    if (e == cudaSuccess) id_ = made.handle;
    buffer_.clear();
    buffered_ = 0;
    return e;
  }

  GraphExec& exec_;
  wire::Id id_ = 0;
  std::vector<std::byte> buffer_;
  uint32_t buffered_ = 0, total_ = 0;
};

void destroy_graphs(int device, const std::vector<wire::Id>& ids) {
  for (const wire::Id id : ids) call_on<wire::Kind::graph_destroy>(device, {.handle = id});
}

Error send_graph(GraphExec& exec) {
  Writer writer(exec);
  const auto bodies = std::exchange(exec.bodies, {});
  const Error e = writer.write(*exec.graph);
  if (e != cudaSuccess) {
    destroy_graphs(exec.device, std::exchange(exec.bodies, bodies));
    return e;
  }
  if (exec.id) call_on<wire::Kind::graph_destroy>(exec.device, {.handle = exec.id});
  destroy_graphs(exec.device, bodies);
  exec.id = writer.id();
  exec.stale = false;
  return cudaSuccess;
}

void mark_recorded(const Graph& graph) {
  for (const auto& node : graph.nodes) {
    if (const auto* event = std::get_if<EventWork>(&node->work); event && event->record) {
      event->event->recorded = true;
      event->event->capture = nullptr;
    }
    for_each_inner(node->work, [](const GraphPtr& inner) { mark_recorded(*inner); });
  }
}

std::vector<GraphPtr> inner_of(const Work& work) {
  std::vector<GraphPtr> list;
  for_each_inner(work, [&](const GraphPtr& inner) { list.push_back(inner); });
  return list;
}

// The node that was made from `original`, in the graph or in one inside it; null: none.
GraphNode* find_copy(const Graph& graph, cudaGraphNode_t original) {
  for (const auto& node : graph.nodes) {
    if (node->original == original) return node.get();
    for (const GraphPtr& inner : inner_of(node->work)) {
      if (GraphNode* const found = find_copy(*inner, original)) return found;
    }
  }
  return nullptr;
}

// Takes over the work of a graph of the same shape. `where`: the node that differs.
cudaGraphExecUpdateResult take_over(Graph& mine, const Graph& theirs, GraphNode*& where) {
  if (mine.nodes.size() != theirs.nodes.size()) return cudaGraphExecUpdateErrorTopologyChanged;
  const auto index_of = [](const Graph& graph, const GraphNode* node) {
    return std::ranges::find(graph.nodes, node, &NodePtr::get) - graph.nodes.begin();
  };
  for (size_t k = 0; k < mine.nodes.size(); ++k) {
    const GraphNode& a = *mine.nodes[k];
    const GraphNode& b = *theirs.nodes[k];
    where = theirs.nodes[k].get();
    if (type_of(a) != type_of(b)) return cudaGraphExecUpdateErrorNodeTypeChanged;
    if (a.after.size() != b.after.size()) return cudaGraphExecUpdateErrorTopologyChanged;
    for (size_t i = 0; i < a.after.size(); ++i) {
      if (index_of(mine, a.after[i]) != index_of(theirs, b.after[i])) return cudaGraphExecUpdateErrorTopologyChanged;
    }
    const auto inside = inner_of(a.work), their_inside = inner_of(b.work);
    if (inside.size() != their_inside.size()) return cudaGraphExecUpdateErrorParametersChanged;
    for (size_t i = 0; i < inside.size(); ++i) {
      const auto result = take_over(*inside[i], *their_inside[i], where);
      if (result != cudaGraphExecUpdateSuccess) return result;
    }
  }
  for (size_t k = 0; k < mine.nodes.size(); ++k) {
    if (inner_of(mine.nodes[k]->work).empty()) mine.nodes[k]->work = theirs.nodes[k]->work;
  }
  where = nullptr;
  return cudaGraphExecUpdateSuccess;
}

}  // namespace

GraphExec::~GraphExec() {
  // What launches in flight still call and touch.
  if (id && !(callbacks.empty() && staging.empty()))
    call_on<wire::Kind::device_wait>(device, {.device = static_cast<uint32_t>(device)});
  if (id) call_on<wire::Kind::graph_destroy>(device, {.handle = id});
  destroy_graphs(device, bodies);
  for (const uint64_t number : callbacks) forget_callback(number);
  for (void* pointer : staging) free_host_always(pointer);
}

Registry<cudaGraphExec_t, GraphExec>& graph_execs() {
  static auto* const all = new Registry<cudaGraphExec_t, GraphExec>;
  return *all;
}

Expected<GraphExecPtr> find_exec(cudaGraphExec_t handle) {
  if (auto exec = graph_execs().find(handle)) return exec;
  return failure(cudaErrorInvalidValue);
}

Expected<cudaGraphExec_t> instantiate(cudaGraph_t handle, unsigned long long flags) {
  const std::lock_guard lock(graph_lock());
  const auto graph = find_graph(handle);
  if (!graph) return failure(graph.error());
  constexpr unsigned long long kKnown = cudaGraphInstantiateFlagAutoFreeOnLaunch | cudaGraphInstantiateFlagUpload |
                                        cudaGraphInstantiateFlagUseNodePriority;
  if (flags & cudaGraphInstantiateFlagDeviceLaunch) return failure(cudaErrorNotSupported);
  if (flags & ~kKnown) return failure(cudaErrorInvalidValue);
  auto exec = std::make_shared<GraphExec>();
  exec->graph = clone_graph(**graph);
  exec->device = thread().device;
  exec->flags = flags;
  if (const Error e = send_graph(*exec); e != cudaSuccess) return failure(e);
  return graph_execs().add(std::move(exec));
}

Error launch_graph(cudaGraphExec_t handle, cudaStream_t stream_handle) {
  const auto stream = find_stream(stream_handle);
  if (!stream) return stream.error();
  const auto exec = find_exec(handle);
  if (!exec) return exec.error();
  {
    const std::lock_guard lock(graph_lock());
    if (capturing(**stream)) return capture_work(**stream, ChildWork{.graph = (*exec)->graph});
    const bool frees = ((*exec)->flags & cudaGraphInstantiateFlagAutoFreeOnLaunch) != 0;
    if (const Error e = allocate_for_launch(*(*exec)->graph, frees); e != cudaSuccess) return e;
    if ((*exec)->stale) {
      if (const Error e = send_graph(**exec); e != cudaSuccess) return e;
    }
    mark_recorded(*(*exec)->graph);
  }
  if (const Error e = check_default_stream(**stream); e != cudaSuccess) return e;
  return call_on<wire::Kind::graph_launch>((*stream)->device, {.stream = (*stream)->ref(), .graph = (*exec)->id});
}

Error destroy_exec(cudaGraphExec_t handle) {
  const auto exec = graph_execs().take(handle);
  return exec ? cudaSuccess : cudaErrorInvalidValue;
}

Error update_exec(cudaGraphExec_t exec_handle, cudaGraph_t graph_handle, cudaGraphExecUpdateResultInfo* result) {
  if (!result) return cudaErrorInvalidValue;
  const std::lock_guard lock(graph_lock());
  const auto exec = find_exec(exec_handle);
  if (!exec) return exec.error();
  const auto graph = find_graph(graph_handle);
  if (!graph) return graph.error();
  GraphNode* where = nullptr;
  *result = {};
  result->result = take_over(*(*exec)->graph, **graph, where);
  if (result->result != cudaGraphExecUpdateSuccess) {
    result->errorNode = where ? where->handle : nullptr;
    return cudaErrorGraphExecUpdateFailure;
  }
  (*exec)->stale = true;
  return cudaSuccess;
}

Expected<GraphNode*> exec_node(GraphExec& exec, cudaGraphNode_t original) {
  GraphNode* const node = original ? find_copy(*exec.graph, original) : nullptr;
  if (!node) return failure(cudaErrorInvalidValue);
  return node;
}

Error set_exec_node(cudaGraphExec_t handle, cudaGraphNode_t original, Work work) {
  const std::lock_guard lock(graph_lock());
  const auto exec = find_exec(handle);
  if (!exec) return exec.error();
  const auto node = exec_node(**exec, original);
  if (!node) return node.error();
  if ((*node)->work.index() != work.index()) return cudaErrorInvalidValue;
  (*node)->work = std::move(work);
  (*exec)->stale = true;
  return cudaSuccess;
}

}  // namespace fb::shim
