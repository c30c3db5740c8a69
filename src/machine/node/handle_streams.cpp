// Streams and events, and how host threads wait for them.

#include <algorithm>
#include <cstring>

#include "machine/node/handlers.h"

namespace fb::machine {
namespace {

using wire::Id;
using wire::Status;

constexpr uint64_t kEventMagic = 0x544E56452D434950;  // "PIC-EVNT"
constexpr uint32_t kMostPolls = 20;

}  // namespace

Stream* Node::find_stream(Process& process, const wire::StreamRef& ref) {
  if (!valid_device(process, ref.device)) return nullptr;
  if (ref.stream == 0) return &default_stream(process, ref.device);
  const auto found = process.streams.find(ref.stream);
  return found == process.streams.end() || found->second.device != ref.device ? nullptr : &found->second;
}

DefaultStream& Node::default_stream(Process& process, uint32_t device) {
  DefaultStream& stream = process.default_streams[device];
  stream.device = device;
  return stream;
}

// The default stream is idle when the streams are that it would wait for.
std::vector<OperationPtr> Node::operations_of(Process& process, const wire::StreamRef& ref) {
  if (ref.stream != 0) return {process.streams.at(ref.stream).last};
  const DefaultStream& legacy = default_stream(process, ref.device);
  std::vector<OperationPtr> operations = {legacy.last};
  for (const Id id : legacy.unjoined) operations.push_back(process.streams.at(id).last);
  for (const Orphan& o : process.orphans) {
    if (o.device == ref.device && o.unjoined) operations.push_back(o.work);
  }
  return operations;
}

std::vector<OperationPtr> Node::operations_of_device(Process& process, uint32_t device) {
  std::vector<OperationPtr> operations;
  for (const auto& [id, stream] : process.streams) {
    if (stream.device == device) operations.push_back(stream.last);
  }
  operations.push_back(default_stream(process, device).last);
  for (const Orphan& o : process.orphans) {
    if (o.device == device) operations.push_back(o.work);
  }
  return operations;
}

Status Handlers::on_stream_create(Node& node, Call& call, const wire::StreamCreate& m, wire::Handle& reply, Answer&) {
  Process& process = *call.thread->process;
  if (!node.valid_device(process, m.device)) return Status::invalid_device;
  if (const Status s = node.sticky_error(process, m.device); s != Status::ok) return s;
  if (!process.may_make_more()) return Status::out_of_memory;
  node.spend(*call.thread, node.platform_.calls.other);
  reply.handle = process.next_id++;
  process.streams[reply.handle] = {m.device, m.non_blocking != 0, m.priority, nullptr};
  return Status::ok;
}

Status Handlers::on_stream_destroy(Node& node, Call& call, const wire::OfHandle& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  const auto found = process.streams.find(m.handle);
  if (found == process.streams.end()) return Status::invalid_handle;
  // Its work goes on.
  const bool unjoined = node.default_stream(process, found->second.device).unjoined.erase(m.handle) != 0;
  if (found->second.last && !found->second.last->has_ended) {
    std::erase_if(process.orphans, [](const Orphan& o) { return o.work->has_ended; });
    process.orphans.push_back({found->second.device, unjoined, found->second.last});
  }
  process.streams.erase(found);
  return Status::ok;
}

// A query is answered at the thread's own virtual time: when that has come, everything before it has happened. Who
// polls in a loop looks less and less often, so that waiting for long costs few messages.
static void answer_query(Engine& engine, HostThread& thread, Time cost, std::function<void(HostThread&, Time)> look) {
  constexpr Time kEndOfTime = Time{1} << 62;
  thread.now = std::min(thread.now + (cost << std::min(thread.polls / 8, kMostPolls)), kEndOfTime);
  engine.schedule(thread.now, thread.tie,
                  [self = thread.shared_from_this(), look = std::move(look), at = thread.now] { look(*self, at); },
                  {EventAbout::Kind::poll});
}

static bool all_ended(const std::vector<OperationPtr>& operations, Time at) {
  return std::ranges::all_of(operations,
                             [at](const OperationPtr& w) { return !w || (w->has_ended && w->ended <= at); });
}

Status Handlers::on_stream_wait(Node& node, Call& call, const wire::StreamRef& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  const Stream* stream = node.find_stream(process, m);
  if (!stream) return Status::invalid_handle;
  node.spend(*call.thread, node.platform_.calls.other);
  node.wait_for(*call.thread, node.operations_of(process, m), m.device);
  return kLater;
}

Status Handlers::on_stream_query(Node& node, Call& call, const wire::StreamRef& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  const Stream* stream = node.find_stream(process, m);
  if (!stream) return Status::invalid_handle;
  answer_query(
      node.engine_, *call.thread, node.platform_.calls.query,
      [&node, &process, device = m.device, operations = node.operations_of(process, m)](HostThread& thread, Time at) {
        Answer answer;
        answer.status = node.sticky_error(process, device);
        const bool done = all_ended(operations, at);
        if (done) node.host_saw(process, operations);
        if (answer.status == Status::ok && !done) answer.status = Status::not_ready;
        thread.polls = done ? 0 : thread.polls + 1;
        node.answer(thread, std::move(answer));
      });
  return kLater;
}

Status Handlers::on_device_wait(Node& node, Call& call, const wire::OfDevice& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  if (!node.valid_device(process, m.device)) return Status::invalid_device;
  node.spend(*call.thread, node.platform_.calls.other);
  node.wait_for(*call.thread, node.operations_of_device(process, m.device), m.device);
  return kLater;
}

// --- Events
// -----------------------------------------------------------------------------------------------------------

Status Handlers::on_event_create(Node& node, Call& call, const wire::EventCreate& m, wire::Handle& reply, Answer&) {
  Process& process = *call.thread->process;
  if (!node.valid_device(process, m.device)) return Status::invalid_device;
  if (m.shareable != 0 && m.timing != 0) return Status::invalid_value;
  if (!process.may_make_more()) return Status::out_of_memory;
  node.spend(*call.thread, node.platform_.calls.other);
  reply.handle = process.next_id++;
  process.events[reply.handle] = std::make_shared<Event>(Event{m.device, m.timing != 0, m.shareable != 0, nullptr, 0});
  return Status::ok;
}

Status Handlers::on_event_destroy(Node& node, Call& call, const wire::OfHandle& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  const auto found = process.events.find(m.handle);
  if (found == process.events.end()) return Status::invalid_handle;
  // Who has opened it keeps it; nobody else can any more.
  if (const auto token = node.tokens_.find(found->second->token);
      token != node.tokens_.end() && token->second.owner == &process)
    node.tokens_.erase(token);
  process.events.erase(found);
  return Status::ok;
}

Status Handlers::on_event_wait(Node& node, Call& call, const wire::OfHandle& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  const auto found = process.events.find(m.handle);
  if (found == process.events.end()) return Status::invalid_handle;
  node.spend(*call.thread, node.platform_.calls.other);
  node.wait_for(*call.thread, {found->second->recorded}, found->second->device);
  return kLater;
}

Status Handlers::on_event_query(Node& node, Call& call, const wire::OfHandle& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  const auto found = process.events.find(m.handle);
  if (found == process.events.end()) return Status::invalid_handle;
  answer_query(
      node.engine_, *call.thread, node.platform_.calls.query,
      [&node, &process, device = found->second->device, work = found->second->recorded](HostThread& thread, Time at) {
        Answer answer;
        answer.status = node.sticky_error(process, device);
        const bool done = all_ended({work}, at);
        if (done) node.host_saw(process, {work});
        if (answer.status == Status::ok && !done) answer.status = Status::not_ready;
        thread.polls = done ? 0 : thread.polls + 1;
        node.answer(thread, std::move(answer));
      });
  return kLater;
}

Status Handlers::on_event_elapsed(Node& node, Call& call, const wire::EventElapsed& m, wire::Elapsed&, Answer&) {
  Process& process = *call.thread->process;
  const auto begin = process.events.find(m.begin), end = process.events.find(m.end);
  if (begin == process.events.end() || end == process.events.end()) return Status::invalid_handle;
  if (!begin->second->timing || !end->second->timing || !begin->second->recorded || !end->second->recorded)
    return Status::invalid_handle;
  node.spend(*call.thread, node.platform_.calls.query);
  node.engine_.schedule(
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
        node.answer(*thread, std::move(answer));
      });
  return kLater;
}

Status Handlers::on_event_export(Node& node, Call& call, const wire::OfHandle& m, wire::IpcToken& reply, Answer&) {
  Process& process = *call.thread->process;
  const auto found = process.events.find(m.handle);
  if (found == process.events.end()) return Status::invalid_handle;
  if (!found->second->shareable) return Status::invalid_handle;
  // Who has opened it can't pass it on.
  Event& event = *found->second;
  if (const auto token = node.tokens_.find(event.token); event.token != 0) {
    if (token == node.tokens_.end() || token->second.owner != &process) return Status::invalid_handle;
  } else {
    event.token = (uint64_t{process.number} + 1) << 32 | process.next_id++;
    node.tokens_[event.token] = {&process, nullptr, found->second};
  }
  const uint64_t number = event.token;
  std::memcpy(reply.bytes, &kEventMagic, sizeof kEventMagic);
  std::memcpy(reply.bytes + 8, &number, sizeof number);
  return Status::ok;
}

Status Handlers::on_event_import(Node& node, Call& call, const wire::IpcToken& m, wire::Handle& reply, Answer&) {
  Process& process = *call.thread->process;
  uint64_t magic = 0, number = 0;
  std::memcpy(&magic, m.bytes, sizeof magic);
  std::memcpy(&number, m.bytes + 8, sizeof number);
  const auto found = node.tokens_.find(number);
  if (magic != kEventMagic || found == node.tokens_.end() || !found->second.event) return Status::invalid_value;
  if (found->second.owner == &process) return Status::invalid_context;
  if (!process.may_make_more()) return Status::out_of_memory;
  reply.handle = process.next_id++;
  process.events[reply.handle] = found->second.event;
  return Status::ok;
}

Status Handlers::on_event_record(Node& node, Call& call, const wire::EventOnStream& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  Stream* stream = node.find_stream(process, m.stream);
  const auto event = process.events.find(m.event);
  if (!stream || event == process.events.end()) return Status::invalid_handle;
  if (const Status s = node.sticky_error(process, m.stream.device); s != Status::ok) return s;
  node.spend(*call.thread, node.platform_.calls.query);
  const OperationPtr op = node.make_operation(process, m.stream.device, "event");
  op->work = [&node](const OperationPtr& self) {
    node.engine_.schedule(self->begun + node.platform_.kernel.event, self->tie,
                          [&node, self] { node.operations_.finish(self, self->begun + node.platform_.kernel.event); });
  };
  node.enqueue(*call.thread, *stream, m.stream.stream, op);
  event->second->recorded = op;
  return Status::ok;
}

Status Handlers::on_event_depend(Node& node, Call& call, const wire::EventOnStream& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  Stream* stream = node.find_stream(process, m.stream);
  const auto event = process.events.find(m.event);
  if (!stream || event == process.events.end()) return Status::invalid_handle;
  if (const Status s = node.sticky_error(process, m.stream.device); s != Status::ok) return s;
  node.spend(*call.thread, node.platform_.calls.query);
  if (!event->second->recorded) return Status::ok;
  const OperationPtr op = node.make_operation(process, m.stream.device, "");
  Operations::order(event->second->recorded, op);
  node.enqueue(*call.thread, *stream, m.stream.stream, op);
  return Status::ok;
}

}  // namespace fb::machine
