// Graphs: each launch makes its operations anew.

#include <cstring>
#include <utility>

#include "machine/node/stream_scheduler.h"

namespace fb::machine {

using wire::Kind;
using wire::Status;

// The stream waits for an entry before all nodes and an exit behind all of them.
Status StreamScheduler::launch_graph(HostThread& thread, Stream& stream, uint64_t stream_id, const Graph& graph) {
  Process& process = *thread.process;
  std::vector<OperationPtr> operations;
  std::vector<std::shared_ptr<Event>> records(graph.nodes.size()), awaited(graph.nodes.size());
  const auto body_of = [](const GraphOperation& n, auto& m) { std::memcpy(&m, n.body.data(), sizeof m); };
  for (size_t k = 0; k < graph.nodes.size(); ++k) {
    const GraphOperation& n = graph.nodes[k];
    OperationPtr op;
    Status status = Status::ok;
    const auto device_ok = [&](uint32_t device) { return node_.memory.valid_device(device); };
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
    operations.push_back(std::move(op));
  }
  const OperationPtr entry = make_operation(process, stream.device, "graph"),
                     exit = make_operation(process, stream.device, "");
  thread.spend(node_.platform.calls.graph_launch);
  entry->issued = thread.now - node_.platform.calls.graph_launch + node_.platform.kernel.graph_launch;
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
