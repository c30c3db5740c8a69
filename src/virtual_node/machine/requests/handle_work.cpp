// Operations that host threads put on streams, and graphs of them.

#include <algorithm>
#include <cstring>

#include "virtual_node/machine/requests/graphs.h"
#include "virtual_node/machine/requests/handlers.h"

namespace fb::machine {
namespace {

using wire::Id;
using wire::Kind;
using wire::Status;

constexpr size_t kMostNodes = 1 << 18;

// Null: there is no such pool. 0 is the default pool of a device.
std::shared_ptr<Pool> find_pool(Process& process, Id id, uint32_t owner) {
  if (id != 0) {
    const auto found = process.pools.find(id);
    return found == process.pools.end() ? nullptr : found->second;
  }
  auto& pool = process.default_pools[owner];
  if (!pool) pool = std::make_shared<Pool>(Pool{owner, {}});
  return pool;
}

}  // namespace

Status on_launch(NodeServices& node, Call& call, const wire::Launch& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  Stream* stream = node.streams.find_stream(process, m.stream);
  if (!stream) return Status::invalid_handle;
  if (const Status s = sticky_error(process, m.stream.device); s != Status::ok) return s;
  OperationPtr op;
  if (const Status s = node.streams.make_launch(process, m, call.blob, stream->priority, op); s != Status::ok) return s;
  // The host call returns before the launch reaches the device.
  op->issued = node.fabric.shares().later(call.thread->now, node.platform.kernel.launch, platform::Group::launch);
  call.thread->spend(node.platform.calls.launch);
  node.streams.enqueue(*call.thread, *stream, m.stream.stream, op);
  return Status::ok;
}

Status on_copy(NodeServices& node, Call& call, const wire::Copy& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  Stream* stream = node.streams.find_stream(process, m.stream);
  if (!stream) return Status::invalid_handle;
  if (const Status s = sticky_error(process, m.stream.device); s != Status::ok) return s;
  OperationPtr op;
  std::shared_ptr<std::vector<std::byte>> read;
  if (const Status s = node.streams.make_copy(process, m, call.blob, op, &read); s != Status::ok) return s;
  call.thread->spend(node.platform.calls.copy);
  node.streams.enqueue(*call.thread, *stream, m.stream.stream, op);
  if (m.wait == 0 && !read) return Status::ok;
  node.threads.wait_for(*call.thread, {op}, m.stream.device, [read](Answer& answer) {
    if (read) answer.blob = std::move(*read);
  });
  return kLater;
}

Status on_memset(NodeServices& node, Call& call, const wire::Memset& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  Stream* stream = node.streams.find_stream(process, m.stream);
  if (!stream) return Status::invalid_handle;
  if (const Status s = sticky_error(process, m.stream.device); s != Status::ok) return s;
  OperationPtr op;
  if (const Status s = node.streams.make_memset(process, m, op); s != Status::ok) return s;
  call.thread->spend(node.platform.calls.copy);
  node.streams.enqueue(*call.thread, *stream, m.stream.stream, op);
  if (m.wait == 0) return Status::ok;
  node.threads.wait_for(*call.thread, {op}, m.stream.device);
  return kLater;
}

Status on_stream_wait_value(NodeServices& node, Call& call, const wire::StreamValue& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  Stream* stream = node.streams.find_stream(process, m.stream);
  if (!stream) return Status::invalid_handle;
  OperationPtr op;
  if (const Status s = node.streams.make_stream_value(process, m, true, op); s != Status::ok) return s;
  call.thread->spend(node.platform.calls.query);
  node.streams.enqueue(*call.thread, *stream, m.stream.stream, op);
  return Status::ok;
}

Status on_stream_write_value(NodeServices& node, Call& call, const wire::StreamValue& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  Stream* stream = node.streams.find_stream(process, m.stream);
  if (!stream) return Status::invalid_handle;
  OperationPtr op;
  if (const Status s = node.streams.make_stream_value(process, m, false, op); s != Status::ok) return s;
  call.thread->spend(node.platform.calls.query);
  node.streams.enqueue(*call.thread, *stream, m.stream.stream, op);
  return Status::ok;
}

Status on_callback(NodeServices& node, Call& call, const wire::Callback& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  Stream* stream = node.streams.find_stream(process, m.stream);
  if (!stream) return Status::invalid_handle;
  if (const Status s = sticky_error(process, m.stream.device); s != Status::ok) return s;
  call.thread->spend(node.platform.calls.other);
  node.streams.enqueue(*call.thread, *stream, m.stream.stream,
                       node.streams.make_callback(process, m.stream.device, m.callback));
  return Status::ok;
}

Status on_callback_next(NodeServices& node, Call& call, const wire::CallbackNext&, wire::CallbackReady&, Answer&) {
  HostThread& thread = *call.thread;
  Process& process = *thread.process;
  if (thread.purpose != wire::Purpose::callbacks || process.callback_thread) return Status::not_permitted;
  if (const OperationPtr done = std::exchange(process.callback, nullptr)) {
    const Time at = std::max(thread.now, done->begun);
    node.engine.schedule(at, done->tie, [&node, done, at] { node.streams.finish(done, at); });
  }
  process.callback_thread = &thread;
  node.streams.deliver_callback(process);
  return kLater;
}

// Stream-ordered memory is allocated at once: addresses are never reused, so it can't be too early.
Status on_pool_create(NodeServices& node, Call& call, const wire::OfDevice& m, wire::Handle& reply, Answer&) {
  Process& process = *call.thread->process;
  if (!node.memory.valid_device(m.device)) return Status::invalid_device;
  if (!process.may_make_more()) return Status::out_of_memory;
  call.thread->spend(node.platform.calls.other);
  reply.handle = process.next_id++;
  process.pools[reply.handle] = std::make_shared<Pool>(Pool{m.device, {}});
  return Status::ok;
}

// Memory of the pool stays until it is freed.
Status on_pool_destroy(NodeServices&, Call& call, const wire::OfHandle& m, wire::Empty&, Answer&) {
  return call.thread->process->pools.erase(m.handle) != 0 ? Status::ok : Status::invalid_value;
}

Status on_pool_set_access(NodeServices& node, Call& call, const wire::PoolAccess& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  if (!node.memory.valid_device(m.owner) || !node.memory.valid_device(m.device)) return Status::invalid_device;
  if (m.access != wire::Access::none && m.access != wire::Access::read && m.access != wire::Access::read_write)
    return Status::invalid_value;
  const auto pool = find_pool(process, m.pool, m.owner);
  if (!pool) return Status::invalid_value;
  call.thread->spend(node.platform.calls.other);
  const bool accessible = m.access != wire::Access::none;
  // A device can't lose its own memory.
  if (pool->device == m.device) return accessible ? Status::ok : Status::invalid_value;
  if (accessible && !node.platform.peer.access) return Status::invalid_device;
  node.memory.set_access(process, *pool, m.device, accessible);
  return Status::ok;
}

Status on_allocate_ordered(NodeServices& node, Call& call, const wire::AllocateOrdered& m, wire::Address& reply,
                           Answer&) {
  Process& process = *call.thread->process;
  if (!node.streams.find_stream(process, m.stream)) return Status::invalid_handle;
  if (const Status s = sticky_error(process, m.stream.device); s != Status::ok) return s;
  if (m.bytes == 0) return Status::invalid_value;
  if (!node.memory.valid_device(m.owner)) return Status::invalid_device;
  if (!process.may_make_more()) return Status::out_of_memory;
  Region region;
  region.bytes = m.bytes;
  region.kind = wire::MemoryKind::device;
  region.pool = find_pool(process, m.pool, m.owner);
  if (!region.pool) return Status::invalid_value;
  region.allocation = node.memory.take_memory(process, region.pool->device, m.bytes, "cudaMallocAsync");
  if (!region.allocation) return Status::out_of_memory;
  call.thread->spend(node.platform.calls.other);
  const Region* added = node.memory.add_region(process, std::move(region));
  if (!added) return Status::out_of_memory;
  reply = {added->begin, added->bytes};
  return Status::ok;
}

Status on_free_ordered(NodeServices& node, Call& call, const wire::FreeOrdered& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  Stream* stream = node.streams.find_stream(process, m.stream);
  if (!stream) return Status::invalid_handle;
  if (const Status s = sticky_error(process, m.stream.device); s != Status::ok) return s;
  const auto found = process.regions.find(m.address);
  if (found == process.regions.end() || found->second.kind != wire::MemoryKind::device || found->second.of_judge)
    return Status::invalid_value;
  call.thread->spend(node.platform.calls.other);
  const OperationPtr op = node.streams.make_operation(process, m.stream.device, "free");
  op->work = [&node, &process, a = m.address](const OperationPtr& self) {
    node.memory.release_region(process, a);
    node.streams.finish(self, self->begun);
  };
  node.streams.enqueue(*call.thread, *stream, m.stream.stream, op);
  return Status::ok;
}

// Graphs

namespace {

bool add_bodies(Process& process, Graph& graph, const GraphOperation& node) {
  wire::GraphConditional m;
  std::memcpy(&m, node.body.data(), sizeof m);
  const bool one = m.type == wire::ConditionalType::while_;
  const bool two = m.type == wire::ConditionalType::if_;
  if (m.type > wire::ConditionalType::switch_ || m.bodies == 0 || (one && m.bodies != 1) || (two && m.bodies > 2))
    return false;
  if (node.blob.size() != m.bodies * sizeof(Id)) return false;
  auto& bodies = graph.bodies[static_cast<uint32_t>(graph.nodes.size())];
  for (uint32_t k = 0; k < m.bodies; ++k) {
    Id id = 0;
    std::memcpy(&id, node.blob.data() + k * sizeof id, sizeof id);
    const auto body = process.graphs.find(id);
    if (body == process.graphs.end() || !body->second->complete) return false;
    bodies.push_back(body->second);
  }
  process.conditionals.try_emplace(m.handle, m.initial);
  return true;
}

}  // namespace

Status on_graph_create(NodeServices& services, Call& call, const wire::GraphCreate& m, wire::Handle& reply, Answer&) {
  Process& process = *call.thread->process;
  Id id = m.graph;
  if (id == 0) {
    if (!process.may_make_more()) return Status::out_of_memory;
    id = process.next_id++;
    process.graphs[id] = std::make_shared<Graph>();
  }
  const auto found = process.graphs.find(id);
  if (found == process.graphs.end() || found->second->complete) return Status::invalid_handle;
  Graph& graph = *found->second;
  const auto refuse = [&](Status why = Status::invalid_value) {
    process.kept_bytes -= graph.bytes;
    process.graphs.erase(found);
    return why;
  };
  if (graph.nodes.size() + m.nodes > kMostNodes) return refuse();
  // A node takes more memory here than in the message.
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
    const bool known = head.kind == Kind::none || wire::has_flag(head.kind, wire::message_flags::graph_node);
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
    if (head.kind == Kind::graph_conditional) {
      // How often a body runs is for the device to say: the rules of a judged run could not be checked before it does.
      if (services.judge) return refuse(Status::not_supported);
      if (!add_bodies(process, graph, node)) return refuse();
    }
    graph.nodes.push_back(std::move(node));
    rest = rest.subspan(size);
  }
  if (!rest.empty()) return refuse();
  graph.complete = m.last != 0;
  if (graph.complete) {
    graph.first_number = process.next_body_number;
    process.next_body_number += static_cast<uint32_t>(graph.nodes.size());
  }
  reply.handle = id;
  return Status::ok;
}

Status on_graph_destroy(NodeServices&, Call& call, const wire::OfHandle& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  const auto found = process.graphs.find(m.handle);
  if (found == process.graphs.end()) return Status::invalid_handle;
  process.kept_bytes -= found->second->bytes;
  process.graphs.erase(found);
  return Status::ok;
}

Status on_graph_conditional(NodeServices&, Call&, const wire::GraphConditional&, wire::Empty&, Answer&) {
  return Status::invalid_value;  // a node of a graph only
}

Status on_graph_launch(NodeServices& node, Call& call, const wire::GraphLaunch& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  Stream* stream = node.streams.find_stream(process, m.stream);
  const auto graph = process.graphs.find(m.graph);
  if (!stream || graph == process.graphs.end() || !graph->second->complete) return Status::invalid_handle;
  if (const Status s = sticky_error(process, m.stream.device); s != Status::ok) return s;
  if (node.judge && node.judge->in_run()) {
    for (const GraphOperation& n : graph->second->nodes) node.log.count_in_run(n.kind);
  }
  return node.graphs.launch(*call.thread, *stream, m.stream.stream, graph->second);
}

}  // namespace fb::machine
