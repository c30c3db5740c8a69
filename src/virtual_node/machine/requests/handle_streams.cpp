// Streams and events, and how host threads wait for them.

#include <algorithm>
#include <cstring>

#include "virtual_node/machine/requests/handlers.h"

namespace fb::machine {
namespace {

using wire::Id;
using wire::Status;

constexpr uint64_t kEventMagic = 0x544E56452D434950;  // "PIC-EVNT"
constexpr uint32_t kMostPolls = 20;

}  // namespace

Status on_stream_create(NodeServices& node, Call& call, const wire::StreamCreate& m, wire::Handle& reply, Answer&) {
  Process& process = *call.thread->process;
  if (!node.memory.valid_device(m.device)) return Status::invalid_device;
  if (const Status s = sticky_error(process, m.device); s != Status::ok) return s;
  if (!process.may_make_more()) return Status::out_of_memory;
  call.thread->spend(node.platform.calls.other);
  reply.handle = process.next_id++;
  process.streams[reply.handle] = {m.device, m.non_blocking != 0, m.priority, nullptr};
  return Status::ok;
}

Status on_stream_destroy(NodeServices& node, Call& call, const wire::OfHandle& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  const auto found = process.streams.find(m.handle);
  if (found == process.streams.end()) return Status::invalid_handle;
  // Its operations still run.
  const bool unjoined = node.streams.default_stream(process, found->second.device).unjoined.erase(m.handle) != 0;
  if (found->second.last && !found->second.last->has_ended) {
    std::erase_if(process.orphans, [](const Orphan& o) { return o.work->has_ended; });
    process.orphans.push_back({found->second.device, unjoined, found->second.last});
  }
  process.streams.erase(found);
  return Status::ok;
}

// A query is answered at the thread's own virtual time, when everything before it has happened. A thread that polls in
// a loop is answered later and later (exponential backoff), so that a long wait costs few messages.
static void answer_query(Engine& engine, HostThread& thread, Time cost, std::function<void(HostThread&, Time)> look) {
  constexpr Time kEndOfTime = Time{1} << 62;
  thread.spend(std::min(cost << std::min(thread.polls / 8, kMostPolls), kEndOfTime - thread.now));
  engine.schedule(thread.now, thread.tie,
                  [self = thread.shared_from_this(), look = std::move(look), at = thread.now] { look(*self, at); },
                  {EventAbout::Kind::poll});
}

// A poll for work that has ended in the thread's future is not in vain: the thread's time only has to come.
static void count_poll(Engine& engine, HostThread& thread, const std::vector<OperationPtr>& operations, bool done) {
  thread.polls = done ? 0 : thread.polls + 1;
  if (std::ranges::all_of(operations, [](const OperationPtr& w) { return !w || w->has_ended; })) {
    engine.polls().note_progress();
  } else {
    engine.polls().note_host();
  }
}

static bool all_ended(const std::vector<OperationPtr>& operations, Time at) {
  return std::ranges::all_of(operations,
                             [at](const OperationPtr& w) { return !w || (w->has_ended && w->ended <= at); });
}

Status on_stream_wait(NodeServices& node, Call& call, const wire::StreamRef& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  const Stream* stream = node.streams.find_stream(process, m);
  if (!stream) return Status::invalid_handle;
  call.thread->spend(node.platform.calls.other);
  node.threads.wait_for(*call.thread, node.streams.operations_of(process, m), m.device);
  return kLater;
}

Status on_stream_query(NodeServices& node, Call& call, const wire::StreamRef& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  const Stream* stream = node.streams.find_stream(process, m);
  if (!stream) return Status::invalid_handle;
  answer_query(node.engine, *call.thread, node.platform.calls.query,
               [&node, &process, device = m.device, operations = node.streams.operations_of(process, m)](
                   HostThread& thread, Time at) {
                 Answer answer;
                 answer.status = sticky_error(process, device);
                 const bool done = all_ended(operations, at);
                 if (done) node.threads.host_saw(process, operations);
                 if (answer.status == Status::ok && !done) answer.status = Status::not_ready;
                 count_poll(node.engine, thread, operations, done);
                 node.threads.answer(thread, std::move(answer));
               });
  return kLater;
}

Status on_device_wait(NodeServices& node, Call& call, const wire::OfDevice& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  if (!node.memory.valid_device(m.device)) return Status::invalid_device;
  call.thread->spend(node.platform.calls.other);
  node.threads.wait_for(*call.thread, node.streams.operations_of_device(process, m.device), m.device);
  return kLater;
}

// Events

Status on_event_create(NodeServices& node, Call& call, const wire::EventCreate& m, wire::Handle& reply, Answer&) {
  Process& process = *call.thread->process;
  if (!node.memory.valid_device(m.device)) return Status::invalid_device;
  if (m.shareable != 0 && m.timing != 0) return Status::invalid_value;
  if (!process.may_make_more()) return Status::out_of_memory;
  call.thread->spend(node.platform.calls.other);
  reply.handle = process.next_id++;
  process.events[reply.handle] = std::make_shared<Event>(Event{m.device, m.timing != 0, m.shareable != 0, nullptr, 0});
  return Status::ok;
}

Status on_event_destroy(NodeServices& node, Call& call, const wire::OfHandle& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  const auto found = process.events.find(m.handle);
  if (found == process.events.end()) return Status::invalid_handle;
  // Processes that have opened it keep it; it can't be opened any more.
  const uint64_t token = found->second->token;
  if (const SharedObject* shared = node.tokens.find(token); shared && shared->owner == &process)
    node.tokens.remove(token);
  process.events.erase(found);
  return Status::ok;
}

Status on_event_wait(NodeServices& node, Call& call, const wire::OfHandle& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  const auto found = process.events.find(m.handle);
  if (found == process.events.end()) return Status::invalid_handle;
  call.thread->spend(node.platform.calls.other);
  node.threads.wait_for(*call.thread, {found->second->recorded}, found->second->device);
  return kLater;
}

Status on_event_query(NodeServices& node, Call& call, const wire::OfHandle& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  const auto found = process.events.find(m.handle);
  if (found == process.events.end()) return Status::invalid_handle;
  answer_query(
      node.engine, *call.thread, node.platform.calls.query,
      [&node, &process, device = found->second->device, work = found->second->recorded](HostThread& thread, Time at) {
        Answer answer;
        answer.status = sticky_error(process, device);
        const bool done = all_ended({work}, at);
        if (done) node.threads.host_saw(process, {work});
        if (answer.status == Status::ok && !done) answer.status = Status::not_ready;
        count_poll(node.engine, thread, {work}, done);
        node.threads.answer(thread, std::move(answer));
      });
  return kLater;
}

Status on_event_elapsed(NodeServices& node, Call& call, const wire::EventElapsed& m, wire::Elapsed&, Answer&) {
  Process& process = *call.thread->process;
  const auto begin = process.events.find(m.begin), end = process.events.find(m.end);
  if (begin == process.events.end() || end == process.events.end()) return Status::invalid_handle;
  if (!begin->second->timing || !end->second->timing || !begin->second->recorded || !end->second->recorded)
    return Status::invalid_handle;
  call.thread->spend(node.platform.calls.query);
  node.engine.schedule(
      call.thread->now, call.thread->tie,
      [&node, thread = call.thread->shared_from_this(), a = begin->second->recorded, b = end->second->recorded] {
        Answer answer;
        if (!a->has_ended || !b->has_ended) {
          answer.status = Status::not_ready;
        } else {
          wire::Elapsed elapsed;
          elapsed.milliseconds = (static_cast<double>(b->ended) - static_cast<double>(a->ended)) * 1e-9;
          answer.body.resize(sizeof elapsed);
          std::memcpy(answer.body.data(), &elapsed, sizeof elapsed);
        }
        node.threads.answer(*thread, std::move(answer));
      });
  return kLater;
}

Status on_event_export(NodeServices& node, Call& call, const wire::OfHandle& m, wire::IpcToken& reply, Answer&) {
  Process& process = *call.thread->process;
  const auto found = process.events.find(m.handle);
  if (found == process.events.end()) return Status::invalid_handle;
  if (!found->second->shareable) return Status::invalid_handle;
  Event& event = *found->second;
  if (event.token != 0) {
    // Only the process that made it can export it.
    const SharedObject* shared = node.tokens.find(event.token);
    if (!shared || shared->owner != &process) return Status::invalid_handle;
  } else {
    event.token = node.tokens.add(process, found->second);
  }
  reply = node.tokens.handle_of(kEventMagic, event.token);
  return Status::ok;
}

Status on_event_import(NodeServices& node, Call& call, const wire::IpcToken& m, wire::Handle& reply, Answer&) {
  Process& process = *call.thread->process;
  const SharedObject* shared = node.tokens.find(node.tokens.token_of(kEventMagic, m));
  if (!shared || !shared->event) return Status::invalid_value;
  if (shared->owner == &process) return Status::invalid_context;
  if (!process.may_make_more()) return Status::out_of_memory;
  reply.handle = process.next_id++;
  process.events[reply.handle] = shared->event;
  return Status::ok;
}

Status on_event_record(NodeServices& node, Call& call, const wire::EventOnStream& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  Stream* stream = node.streams.find_stream(process, m.stream);
  const auto event = process.events.find(m.event);
  if (!stream || event == process.events.end()) return Status::invalid_handle;
  if (const Status s = sticky_error(process, m.stream.device); s != Status::ok) return s;
  call.thread->spend(node.platform.calls.query);
  const OperationPtr op = node.streams.make_operation(process, m.stream.device, "event");
  op->work = [&node](const OperationPtr& self) {
    const Time at = node.fabric.shares().later(self->begun, node.platform.kernel.event, platform::Group::launch);
    node.engine.schedule(at, self->tie, [&node, self, at] { node.streams.finish(self, at); });
  };
  node.streams.enqueue(*call.thread, *stream, m.stream.stream, op);
  event->second->recorded = op;
  return Status::ok;
}

Status on_event_depend(NodeServices& node, Call& call, const wire::EventOnStream& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  Stream* stream = node.streams.find_stream(process, m.stream);
  const auto event = process.events.find(m.event);
  if (!stream || event == process.events.end()) return Status::invalid_handle;
  if (const Status s = sticky_error(process, m.stream.device); s != Status::ok) return s;
  call.thread->spend(node.platform.calls.query);
  if (!event->second->recorded) return Status::ok;
  const OperationPtr op = node.streams.make_operation(process, m.stream.device, "");
  Operations::order(event->second->recorded, op);
  node.streams.enqueue(*call.thread, *stream, m.stream.stream, op);
  return Status::ok;
}

}  // namespace fb::machine
