// Communicators and collective operations.

#include "virtual_node/machine/libraries/collective/collectives.h"
#include "virtual_node/machine/requests/handlers.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

namespace fb::machine {

using wire::Id;
using wire::Status;

Status on_comm_id(NodeServices& node, Call& call, const wire::OfHandle& m, wire::CommId& reply, Answer&) {
  call.thread->spend(node.platform.nccl.call);
  return node.collectives.make_id(*call.thread->process, m.handle, reply);
}

Status on_comm_create(NodeServices& node, Call& call, const wire::CommCreate& m, wire::Handle& reply, Answer&) {
  return node.collectives.create(*call.thread, m, call.blob, reply.handle);
}

Status on_comm_wait(NodeServices& node, Call& call, const wire::OfHandle& m, wire::CommFacts&, Answer&) {
  return node.collectives.wait(*call.thread, m.handle);
}

// As a query of a stream: answered at the thread's own time, later and later while it polls.
Status on_comm_query(NodeServices& node, Call& call, const wire::OfHandle& m, wire::CommFacts&, Answer&) {
  if (!call.thread->process->comms.contains(m.handle)) return Status::invalid_handle;
  constexpr uint32_t kMostDoublings = 20;
  HostThread& thread = *call.thread;
  thread.spend(node.platform.calls.query << std::min(thread.polls / 8, kMostDoublings));
  node.engine.schedule(thread.now, thread.tie,
                       [&node, self = thread.shared_from_this(), id = m.handle] {
                         Answer answer;
                         wire::CommFacts facts;
                         answer.status = node.collectives.facts(*self->process, id, facts);
                         answer.set_body(facts);
                         if (facts.state == wire::CommState::in_progress) {
                           ++self->polls;
                           node.engine.polls().note_host();
                         } else {
                           self->polls = 0;
                           node.engine.polls().note_progress();
                         }
                         node.threads.answer(*self, std::move(answer));
                       },
                       {EventAbout::Kind::poll});
  return kLater;
}

Status on_comm_end(NodeServices& node, Call& call, const wire::CommEnd& m, wire::Empty&, Answer&) {
  return node.collectives.end(*call.thread, m);
}

Status on_comm_window(NodeServices& node, Call& call, const wire::CommWindow& m, wire::Handle& reply, Answer&) {
  return node.collectives.set_window(*call.thread, m, reply.handle);
}

// Further streams wait for it and it waits for them, through operations that do nothing.
Status on_collective(NodeServices& node, Call& call, const wire::Collective& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  Stream* stream = node.streams.find_stream(process, m.stream);
  if (!stream) return Status::invalid_handle;
  OperationPtr op;
  if (const Status s = node.collectives.make(process, m, call.blob, op); s != Status::ok) return s;
  std::vector<Id> more(m.more_streams);
  if (!more.empty())
    std::memcpy(more.data(), call.blob.data() + m.calls * sizeof(wire::CollectiveCall), more.size() * sizeof(Id));
  std::set<Id> seen{m.stream.stream};
  std::vector<std::pair<Id, Stream*>> others;
  for (const Id id : more) {
    if (!seen.insert(id).second) continue;
    Stream* other = node.streams.find_stream(process, {id, m.stream.device, 0});
    if (!other) return Status::invalid_handle;
    others.emplace_back(id, other);
  }
  call.thread->spend(node.platform.nccl.call);
  for (const auto& [id, other] : others) {
    const OperationPtr before = node.streams.make_operation(process, m.stream.device, "");
    node.streams.enqueue(*call.thread, *other, id, before);
    Operations::order(before, op);
  }
  node.streams.enqueue(*call.thread, *stream, m.stream.stream, op);
  for (const auto& [id, other] : others) {
    const OperationPtr behind = node.streams.make_operation(process, m.stream.device, "");
    Operations::order(op, behind);
    node.streams.enqueue(*call.thread, *other, id, behind);
  }
  return Status::ok;
}

Status on_collective_estimate(NodeServices& node, Call& call, const wire::Collective& m, wire::Elapsed& reply,
                              Answer&) {
  Time time = 0;
  const Status s = node.collectives.estimate(*call.thread->process, m, call.blob, time);
  reply.milliseconds = static_cast<double>(time) * 1e-9;
  return s;
}

}  // namespace fb::machine
