#include "virtual_node/machine/requests/graphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace fb::machine {

using wire::Kind;
using wire::Status;

// Where a graph runs.
struct GraphLauncher::Place {
  uint32_t device = 0;
  int32_t priority = 0;
  uint64_t stream = 0;
  uint32_t first_number = 1;
};

namespace {

template <class Body>
Body body_of(const GraphOperation& node) {
  Body body;
  std::memcpy(&body, node.body.data(), sizeof body);
  return body;
}

// Handles take the values that they have at each launch, those of bodies as well.
void assign_conditionals(Process& process, const Graph& graph) {
  for (const auto& [number, bodies] : graph.bodies) {
    const auto m = body_of<wire::GraphConditional>(graph.nodes[number]);
    if (m.assigned != 0) process.conditionals[m.handle] = m.initial;
    for (const auto& body : bodies) assign_conditionals(process, *body);
  }
}

// Null: none is to run.
GraphRef chosen_body(const wire::GraphConditional& m, uint32_t value, const std::vector<GraphRef>& bodies) {
  size_t index = value;
  if (m.type == wire::ConditionalType::if_) index = value != 0 ? 0 : 1;
  if (m.type == wire::ConditionalType::while_ && value != 0) index = 0;
  if (m.type == wire::ConditionalType::while_ && value == 0) return nullptr;
  return index < bodies.size() ? bodies[index] : nullptr;
}

}  // namespace

// Checks the node and makes its operation, if it is one of a stream.
Status GraphLauncher::make_node(Process& process, const GraphOperation& n, const Place& place, OperationPtr& op) {
  const auto device_ok = [&](uint32_t device) { return node_.memory.valid_device(device); };
  switch (n.kind) {
    case Kind::launch: {
      const auto m = body_of<wire::Launch>(n);
      return device_ok(m.stream.device) ? node_.streams.make_launch(process, m, n.blob, place.priority, op)
                                        : Status::invalid_device;
    }
    case Kind::copy: {
      const auto m = body_of<wire::Copy>(n);
      return device_ok(m.stream.device) ? node_.streams.make_copy(process, m, n.blob, op, nullptr)
                                        : Status::invalid_device;
    }
    case Kind::memset: {
      const auto m = body_of<wire::Memset>(n);
      return device_ok(m.stream.device) ? node_.streams.make_memset(process, m, op) : Status::invalid_device;
    }
    case Kind::stream_wait_value:
    case Kind::stream_write_value: {
      const auto m = body_of<wire::StreamValue>(n);
      return device_ok(m.stream.device)
                 ? node_.streams.make_stream_value(process, m, n.kind == Kind::stream_wait_value, op)
                 : Status::invalid_device;
    }
    case Kind::callback: {
      const auto m = body_of<wire::Callback>(n);
      if (!device_ok(m.stream.device)) return Status::invalid_device;
      op = node_.streams.make_callback(process, m.stream.device, m.callback);
      return sticky_error(process, m.stream.device);
    }
    case Kind::event_record:
    case Kind::event_depend: {
      const auto m = body_of<wire::EventOnStream>(n);
      if (!process.events.contains(m.event) || !device_ok(m.stream.device)) return Status::invalid_handle;
      op = StreamScheduler::make_operation(process, m.stream.device, "event");
      return sticky_error(process, m.stream.device);
    }
    case Kind::collective: {
      const auto m = body_of<wire::Collective>(n);
      if (!device_ok(m.stream.device) || m.more_streams != 0) return Status::invalid_value;
      return node_.collectives.make(process, m, n.blob, op);
    }
    case Kind::blas: {
      const auto m = body_of<wire::Blas>(n);
      return device_ok(m.stream.device) ? node_.blas.make(process, m, op) : Status::invalid_device;
    }
    case Kind::graph_conditional:
      op = StreamScheduler::make_operation(process, place.device, "conditional node");
      return sticky_error(process, place.device);
    default:
      op = StreamScheduler::make_operation(process, place.device, "");
      return Status::ok;
  }
}

Status GraphLauncher::make_graph(Process& process, const GraphRef& graph, const Place& place, const OperationPtr& entry,
                                 const OperationPtr& exit) {
  std::vector<OperationPtr> operations(graph->nodes.size());
  for (size_t k = 0; k < operations.size(); ++k) {
    if (const Status s = make_node(process, graph->nodes[k], place, operations[k]); s != Status::ok) return s;
  }
  for (const auto& [number, bodies] : graph->bodies) {
    operations[number]->work = [this, graph, m = body_of<wire::GraphConditional>(graph->nodes[number]), &bodies,
                                place](const OperationPtr& self) { run_conditional(self, m, bodies, place); };
  }
  for (size_t k = 0; k < operations.size(); ++k) {
    const GraphOperation& n = graph->nodes[k];
    const OperationPtr& op = operations[k];
    op->stream = place.stream;
    op->graph_node = place.first_number + static_cast<uint32_t>(k);
    if (n.dependencies.empty()) Operations::order(entry, op);
    for (const uint32_t d : n.dependencies) Operations::order(operations[d], op);
    if (n.kind == Kind::event_depend)
      Operations::order(process.events.at(body_of<wire::EventOnStream>(n).event)->recorded, op);
    Operations::order(op, exit);
    node_.streams.adopt(op);
  }
  for (size_t k = 0; k < operations.size(); ++k) {
    const GraphOperation& n = graph->nodes[k];
    if (n.kind == Kind::event_record)
      process.events.at(body_of<wire::EventOnStream>(n).event)->recorded = operations[k];
  }
  if (operations.empty()) Operations::order(entry, exit);
  exit->stream = place.stream;
  node_.streams.adopt(exit);
  return Status::ok;
}

// The stream waits for an entry before all nodes and an exit behind all of them.
Status GraphLauncher::launch(HostThread& thread, Stream& stream, uint64_t stream_id, const GraphRef& graph) {
  Process& process = *thread.process;
  const OperationPtr entry = StreamScheduler::make_operation(process, stream.device, "graph"),
                     exit = StreamScheduler::make_operation(process, stream.device, "");
  const Place place{stream.device, stream.priority, stream_id, 1};
  if (const Status s = make_graph(process, graph, place, entry, exit); s != Status::ok) return s;
  if (!graph->bodies.empty()) {
    entry->work = [this, &process, graph](const OperationPtr& self) {
      assign_conditionals(process, *graph);
      node_.streams.finish(self, self->begun);
    };
  }
  entry->issued = node_.fabric.shares().later(thread.now, node_.platform.kernel.graph_launch, platform::Group::launch);
  thread.spend(node_.platform.calls.graph_launch);
  node_.streams.enqueue(thread, stream, stream_id, entry);
  stream.last = exit;
  return Status::ok;
}

// The operations of a body inherit the node's clock, and what comes behind the node inherits theirs.
void GraphLauncher::run_conditional(const OperationPtr& op, const wire::GraphConditional& m,
                                    const std::vector<GraphRef>& bodies, const Place& place) {
  Process& process = *op->process;
  const Time now = std::max(op->begun, node_.engine.now());
  const GraphRef body = chosen_body(m, process.conditionals[m.handle], bodies);
  if (!body) return node_.streams.finish(op, now);
  const OperationPtr entry = StreamScheduler::make_operation(process, place.device, "body of a graph"),
                     exit = StreamScheduler::make_operation(process, place.device, "");
  Place inside = place;
  inside.first_number = body->first_number;
  if (const Status s = make_graph(process, body, inside, entry, exit); s != Status::ok) {
    node_.lost.launch_failed(process, fmt::format("the body of a conditional node: {}", wire::to_string(s)), "");
    return node_.streams.fail(process, place.device, s);
  }
  entry->stream = place.stream;
  entry->graph_node = exit->graph_node = op->graph_node;
  entry->issued = node_.fabric.shares().later(now, node_.platform.kernel.start, platform::Group::launch);
  if (node_.checking) entry->incoming = node_.checking->so_far(*op);
  exit->on_end.push_back([this, op, exit, m, &bodies, place] {
    if (op->has_ended) return;
    if (exit->status != Status::ok) return node_.streams.finish(op, exit->ended, exit->status);
    if (node_.checking) node_.checking->inherit(*op, exit->outgoing);
    op->begun = std::max(op->begun, exit->ended);
    if (m.type == wire::ConditionalType::while_) return run_conditional(op, m, bodies, place);
    node_.streams.finish(op, exit->ended);
  });
  node_.streams.submit_part(entry);
}

}  // namespace fb::machine
