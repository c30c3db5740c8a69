// Work that host threads put on streams, and graphs of it.

#include <algorithm>
#include <cstring>

#include "machine/node/handlers.h"

namespace fb::machine {
namespace {

using wire::Id;
using wire::Kind;
using wire::Status;

constexpr size_t kMostNodes = 1 << 18;

}  // namespace

Status Handlers::on_launch(Node& node, Call& call, const wire::Launch& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  Stream* stream = node.find_stream(process, m.stream);
  if (!stream) return Status::invalid_handle;
  if (const Status s = node.sticky_error(process, m.stream.device); s != Status::ok) return s;
  OperationPtr op;
  if (const Status s = node.make_launch(process, m, call.blob, stream->priority, op); s != Status::ok) return s;
  // The host is through before the device has heard of it.
  node.spend(*call.thread, node.platform_.calls.launch);
  op->issued = call.thread->now - node.platform_.calls.launch + node.platform_.kernel.launch;
  node.enqueue(*call.thread, *stream, m.stream.stream, op);
  return Status::ok;
}

Status Handlers::on_copy(Node& node, Call& call, const wire::Copy& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  Stream* stream = node.find_stream(process, m.stream);
  if (!stream) return Status::invalid_handle;
  if (const Status s = node.sticky_error(process, m.stream.device); s != Status::ok) return s;
  OperationPtr op;
  std::shared_ptr<std::vector<std::byte>> read;
  if (const Status s = node.make_copy(process, m, call.blob, op, &read); s != Status::ok) return s;
  node.spend(*call.thread, node.platform_.calls.copy);
  node.enqueue(*call.thread, *stream, m.stream.stream, op);
  if (m.wait == 0 && !read) return Status::ok;
  node.wait_for(*call.thread, {op}, m.stream.device, [read](Answer& answer) {
    if (read) answer.blob = std::move(*read);
  });
  return kLater;
}

Status Handlers::on_memset(Node& node, Call& call, const wire::Memset& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  Stream* stream = node.find_stream(process, m.stream);
  if (!stream) return Status::invalid_handle;
  if (const Status s = node.sticky_error(process, m.stream.device); s != Status::ok) return s;
  OperationPtr op;
  if (const Status s = node.make_memset(process, m, op); s != Status::ok) return s;
  node.spend(*call.thread, node.platform_.calls.copy);
  node.enqueue(*call.thread, *stream, m.stream.stream, op);
  if (m.wait == 0) return Status::ok;
  node.wait_for(*call.thread, {op}, m.stream.device);
  return kLater;
}

Status Handlers::on_stream_wait_value(Node& node, Call& call, const wire::StreamValue& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  Stream* stream = node.find_stream(process, m.stream);
  if (!stream) return Status::invalid_handle;
  OperationPtr op;
  if (const Status s = node.make_stream_value(process, m, true, op); s != Status::ok) return s;
  node.spend(*call.thread, node.platform_.calls.query);
  node.enqueue(*call.thread, *stream, m.stream.stream, op);
  return Status::ok;
}

Status Handlers::on_stream_write_value(Node& node, Call& call, const wire::StreamValue& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  Stream* stream = node.find_stream(process, m.stream);
  if (!stream) return Status::invalid_handle;
  OperationPtr op;
  if (const Status s = node.make_stream_value(process, m, false, op); s != Status::ok) return s;
  node.spend(*call.thread, node.platform_.calls.query);
  node.enqueue(*call.thread, *stream, m.stream.stream, op);
  return Status::ok;
}

Status Handlers::on_callback(Node& node, Call& call, const wire::Callback& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  Stream* stream = node.find_stream(process, m.stream);
  if (!stream) return Status::invalid_handle;
  if (const Status s = node.sticky_error(process, m.stream.device); s != Status::ok) return s;
  node.spend(*call.thread, node.platform_.calls.other);
  node.enqueue(*call.thread, *stream, m.stream.stream, node.make_callback(process, m.stream.device, m.callback));
  return Status::ok;
}

Status Handlers::on_callback_next(Node& node, Call& call, const wire::CallbackNext&, wire::CallbackReady&, Answer&) {
  HostThread& thread = *call.thread;
  Process& process = *thread.process;
  if (thread.purpose != wire::Purpose::callbacks || process.callback_thread) return Status::not_permitted;
  if (const OperationPtr done = std::exchange(process.callback, nullptr)) {
    const Time at = std::max(thread.now, done->begun);
    node.engine_.schedule(at, done->tie, [&node, done, at] { node.operations_.finish(done, at); });
  }
  process.callback_thread = &thread;
  node.deliver_callback(process);
  return kLater;
}

// Memory in the order of a stream is memory at once: addresses are never handed out twice, so nothing can be too early.
Status Handlers::on_allocate_ordered(Node& node, Call& call, const wire::AllocateOrdered& m, wire::Address& reply,
                                     Answer&) {
  Process& process = *call.thread->process;
  if (!node.find_stream(process, m.stream)) return Status::invalid_handle;
  if (const Status s = node.sticky_error(process, m.stream.device); s != Status::ok) return s;
  if (m.bytes == 0) return Status::invalid_value;
  if (!process.may_make_more()) return Status::out_of_memory;
  Region region;
  region.bytes = m.bytes;
  region.kind = wire::MemoryKind::device;
  region.allocation = node.take_memory(process, m.stream.device, m.bytes, "cudaMallocAsync");
  if (!region.allocation) return Status::out_of_memory;
  node.spend(*call.thread, node.platform_.calls.other);
  const Region* added = node.add_region(process, std::move(region));
  if (!added) return Status::out_of_memory;
  reply = {added->begin, added->bytes};
  return Status::ok;
}

Status Handlers::on_free_ordered(Node& node, Call& call, const wire::FreeOrdered& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  Stream* stream = node.find_stream(process, m.stream);
  if (!stream) return Status::invalid_handle;
  if (const Status s = node.sticky_error(process, m.stream.device); s != Status::ok) return s;
  const auto found = process.regions.find(m.address);
  if (found == process.regions.end() || found->second.kind != wire::MemoryKind::device || found->second.of_judge)
    return Status::invalid_value;
  node.spend(*call.thread, node.platform_.calls.other);
  const OperationPtr op = node.make_operation(process, m.stream.device, "free");
  op->work = [&node, &process, a = m.address](const OperationPtr& self) {
    node.release_region(process, a);
    node.operations_.finish(self, self->begun);
  };
  node.enqueue(*call.thread, *stream, m.stream.stream, op);
  return Status::ok;
}

// --- Graphs
// -----------------------------------------------------------------------------------------------------------

Status Handlers::on_graph_create(Node&, Call& call, const wire::GraphCreate& m, wire::Handle& reply, Answer&) {
  Process& process = *call.thread->process;
  Id id = m.graph;
  if (id == 0) {
    if (!process.may_make_more()) return Status::out_of_memory;
    id = process.next_id++;
    process.graphs[id];
  }
  const auto found = process.graphs.find(id);
  if (found == process.graphs.end() || found->second.complete) return Status::invalid_handle;
  Graph& graph = found->second;
  const auto refuse = [&](Status why = Status::invalid_value) {
    process.kept_bytes -= graph.bytes;
    process.graphs.erase(found);
    return why;
  };
  if (graph.nodes.size() + m.nodes > kMostNodes) return refuse();
  // Each node costs more here than on its way.
  const uint64_t bytes = call.blob.size() + m.nodes * sizeof(GraphOperation);
  graph.bytes += bytes;
  process.kept_bytes += bytes;
  if (process.kept_bytes > kMostKept) return refuse(Status::out_of_memory);
  auto rest = call.blob;
  for (uint32_t k = 0; k < m.nodes; ++k) {
    wire::GraphNodeHeader head;
    if (rest.size() < sizeof head) return refuse();
    std::memcpy(&head, rest.data(), sizeof head);
    rest = rest.subspan(sizeof head);
    const uint64_t size = uint64_t{head.body} + head.blob + uint64_t{head.dependencies} * 4;
    const bool known = head.kind == Kind::none || head.kind == Kind::launch || head.kind == Kind::copy ||
                       head.kind == Kind::memset || head.kind == Kind::callback || head.kind == Kind::event_record ||
                       head.kind == Kind::event_depend || head.kind == Kind::stream_wait_value ||
                       head.kind == Kind::stream_write_value;
    if (!known || size > rest.size() || head.body != wire::request_bytes(head.kind)) return refuse();
    GraphOperation node;
    node.kind = head.kind;
    node.body.assign(rest.begin(), rest.begin() + head.body);
    node.blob.assign(rest.begin() + head.body, rest.begin() + head.body + head.blob);
    node.dependencies.resize(head.dependencies);
    if (head.dependencies != 0)
      std::memcpy(node.dependencies.data(), rest.data() + head.body + head.blob, head.dependencies * 4);
    const size_t number = graph.nodes.size();
    if (std::ranges::any_of(node.dependencies, [&](uint32_t d) { return d >= number; })) return refuse();
    graph.nodes.push_back(std::move(node));
    rest = rest.subspan(size);
  }
  if (!rest.empty()) return refuse();
  graph.complete = m.last != 0;
  reply.handle = id;
  return Status::ok;
}

Status Handlers::on_graph_destroy(Node&, Call& call, const wire::OfHandle& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  const auto found = process.graphs.find(m.handle);
  if (found == process.graphs.end()) return Status::invalid_handle;
  process.kept_bytes -= found->second.bytes;
  process.graphs.erase(found);
  return Status::ok;
}

Status Handlers::on_graph_launch(Node& node, Call& call, const wire::GraphLaunch& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  Stream* stream = node.find_stream(process, m.stream);
  const auto graph = process.graphs.find(m.graph);
  if (!stream || graph == process.graphs.end() || !graph->second.complete) return Status::invalid_handle;
  if (const Status s = node.sticky_error(process, m.stream.device); s != Status::ok) return s;
  return node.make_graph(*call.thread, *stream, m.stream.stream, graph->second);
}

// The stream waits for an entry before all nodes and an exit behind all of them.
Status Node::make_graph(HostThread& thread, Stream& stream, uint64_t stream_id, const Graph& graph) {
  Process& process = *thread.process;
  std::vector<OperationPtr> operations;
  std::vector<std::shared_ptr<Event>> records(graph.nodes.size()), awaited(graph.nodes.size());
  const auto body_of = [](const GraphOperation& n, auto& m) { std::memcpy(&m, n.body.data(), sizeof m); };
  for (size_t k = 0; k < graph.nodes.size(); ++k) {
    const GraphOperation& n = graph.nodes[k];
    OperationPtr op;
    Status status = Status::ok;
    const auto device_ok = [&](uint32_t device) { return valid_device(process, device); };
    if (n.kind == Kind::launch) {
      wire::Launch m;
      body_of(n, m);
      status =
          device_ok(m.stream.device) ? make_launch(process, m, n.blob, stream.priority, op) : Status::invalid_device;
    } else if (n.kind == Kind::copy) {
      wire::Copy m;
      body_of(n, m);
      status = device_ok(m.stream.device) ? make_copy(process, m, n.blob, op, nullptr) : Status::invalid_device;
    } else if (n.kind == Kind::memset) {
      wire::Memset m;
      body_of(n, m);
      status = device_ok(m.stream.device) ? make_memset(process, m, op) : Status::invalid_device;
    } else if (n.kind == Kind::stream_wait_value || n.kind == Kind::stream_write_value) {
      wire::StreamValue m;
      body_of(n, m);
      status = device_ok(m.stream.device) ? make_stream_value(process, m, n.kind == Kind::stream_wait_value, op)
                                          : Status::invalid_device;
    } else if (n.kind == Kind::callback) {
      wire::Callback m;
      body_of(n, m);
      if (!device_ok(m.stream.device)) return Status::invalid_device;
      status = sticky_error(process, m.stream.device);
      op = make_callback(process, m.stream.device, m.callback);
    } else if (n.kind == Kind::event_record || n.kind == Kind::event_depend) {
      wire::EventOnStream m;
      body_of(n, m);
      const auto event = process.events.find(m.event);
      if (event == process.events.end() || !device_ok(m.stream.device)) return Status::invalid_handle;
      status = sticky_error(process, m.stream.device);
      op = make_operation(process, m.stream.device, "event");
      (n.kind == Kind::event_record ? records : awaited)[k] = event->second;
    } else {
      op = make_operation(process, stream.device, "");
    }
    if (status != Status::ok) return status;
    count_in_run(n.kind);
    operations.push_back(std::move(op));
  }
  const OperationPtr entry = make_operation(process, stream.device, "graph"),
                     exit = make_operation(process, stream.device, "");
  spend(thread, platform_.calls.graph_launch);
  entry->issued = thread.now - platform_.calls.graph_launch + platform_.kernel.graph_launch;
  exit->stream = stream_id;
  for (size_t k = 0; k < operations.size(); ++k) {
    operations[k]->stream = stream_id;
    operations[k]->graph_node = static_cast<uint32_t>(k + 1);
    if (graph.nodes[k].dependencies.empty()) Operations::order(entry, operations[k]);
    for (uint32_t d : graph.nodes[k].dependencies) Operations::order(operations[d], operations[k]);
    if (awaited[k]) Operations::order(awaited[k]->recorded, operations[k]);
    Operations::order(operations[k], exit);
    adopt(operations[k]);
  }
  for (size_t k = 0; k < operations.size(); ++k) {
    if (records[k]) records[k]->recorded = operations[k];
  }
  if (operations.empty()) Operations::order(entry, exit);
  adopt(exit);
  enqueue(thread, stream, stream_id, entry);
  stream.last = exit;
  return Status::ok;
}

}  // namespace fb::machine
