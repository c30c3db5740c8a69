#include "virtual_node/machine/process/stream_scheduler.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace fb::machine {

using wire::Id;
using wire::Status;

StreamScheduler::StreamScheduler(ProcessServices& node, DeviceRuntimes& launches)
    : node_(node), operations_(node.engine), waiting_kernels_(node.platform.devices()), launches_(launches) {
  if (node.checking) {
    operations_.on_begun = [this](Operation& op) { node_.checking->begun(op); };
    operations_.on_ended = [this](Operation& op) { node_.checking->ended(op); };
  }
  operations_.on_finished = [this](const Operation& op) {
    if (op.counted) {
      --op.process->live;
      op.process->payload -= op.payload;
      node_.threads.resume_held(*op.process);
    }
    node_.log.add_finished(op);
    if (op.status == Status::ok) node_.log.count_ended(op.kind);
  };
}

Stream* StreamScheduler::find_stream(Process& process, const wire::StreamRef& ref) {
  if (!node_.memory.valid_device(ref.device)) return nullptr;
  if (ref.stream == 0) return &default_stream(process, ref.device);
  const auto found = process.streams.find(ref.stream);
  return found == process.streams.end() || found->second.device != ref.device ? nullptr : &found->second;
}

DefaultStream& StreamScheduler::default_stream(Process& process, uint32_t device) {
  DefaultStream& stream = process.default_streams[device];
  stream.device = device;
  return stream;
}

// The default stream is idle when all streams that it would wait for are.
std::vector<OperationPtr> StreamScheduler::operations_of(Process& process, const wire::StreamRef& ref) {
  if (ref.stream != 0) return {process.streams.at(ref.stream).last};
  const DefaultStream& legacy = default_stream(process, ref.device);
  std::vector<OperationPtr> operations = {legacy.last};
  for (const Id id : legacy.unjoined) operations.push_back(process.streams.at(id).last);
  for (const Orphan& o : process.orphans) {
    if (o.device == ref.device && o.unjoined) operations.push_back(o.work);
  }
  return operations;
}

std::vector<OperationPtr> StreamScheduler::operations_of_device(Process& process, uint32_t device) {
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

OperationPtr StreamScheduler::make_operation(Process& process, uint32_t device, std::string name) {
  auto op = std::make_shared<Operation>();
  op->process = &process;
  op->device = global_device(process, device);
  op->name = std::move(name);
  op->tie = tie_of(process, process.next_operation++);
  op->call = process.call;
  return op;
}

void StreamScheduler::adopt(const OperationPtr& op, bool of_host) {
  constexpr uint64_t kCost = 500;  // in instructions
  node_.engine.charge(kCost);
  Process& process = *op->process;
  if (process.pending.size() >= process.prune_at) {
    std::erase_if(process.pending, [](const OperationPtr& w) { return w->has_ended; });
    process.prune_at = std::max<size_t>(64, process.pending.size() * 2);
  }
  process.pending.push_back(op);
  if (op->kernel()) node_.log.count_launch();
  if (node_.checking && of_host) node_.checking->issued(*op, !node_.judge);
  if (op->on_issue) std::exchange(op->on_issue, nullptr)();
  op->counted = true;
  ++process.live;
  process.payload += op->payload;
}

void StreamScheduler::submit(const OperationPtr& op) {
  adopt(op);
  operations_.submit(op);
}

void StreamScheduler::submit_part(const OperationPtr& op) {
  adopt(op, false);
  operations_.submit(op);
}

// The default stream waits for all blocking streams of its device and they wait for it.
void StreamScheduler::enqueue(HostThread& thread, Stream& stream, uint64_t stream_id, const OperationPtr& op) {
  Process& process = *thread.process;
  op->stream = stream_id;
  op->issued = std::max(op->issued, thread.now);
  Operations::order(stream.last, op);
  if (stream_id == 0) {
    // Each of them once: later operations of the default stream are ordered behind this one.
    for (const wire::Id id : std::exchange(default_stream(process, stream.device).unjoined, {}))
      Operations::order(process.streams.at(id).last, op);
    std::erase_if(process.orphans, [](const Orphan& o) { return o.work->has_ended; });
    for (Orphan& orphan : process.orphans) {
      if (orphan.device == stream.device && std::exchange(orphan.unjoined, false)) Operations::order(orphan.work, op);
    }
  } else if (!stream.non_blocking) {
    DefaultStream& legacy = default_stream(process, stream.device);
    Operations::order(legacy.last, op);
    legacy.unjoined.insert(stream_id);
  }
  stream.last = op;
  submit(op);
}

OperationPtr StreamScheduler::make_callback(Process& process, uint32_t device, uint64_t number) {
  const OperationPtr op = make_operation(process, device, "host function");
  op->kind = WorkKind::host_function;
  op->work = [this, &process, number](const OperationPtr& self) {
    process.callbacks.emplace_back(number, self);
    deliver_callback(process);
  };
  return op;
}

void StreamScheduler::deliver_callback(Process& process) {
  if (!process.callback_thread || process.callbacks.empty()) return;
  HostThread& thread = *std::exchange(process.callback_thread, nullptr);
  auto [number, op] = std::move(process.callbacks.front());
  process.callbacks.pop_front();
  process.callback = std::move(op);
  Answer answer;
  const wire::CallbackReady ready{number};
  answer.body.resize(sizeof ready);
  std::memcpy(answer.body.data(), &ready, sizeof ready);
  const Time at =
      node_.fabric.shares().later(process.callback->begun, node_.platform.calls.wake, platform::Group::launch);
  node_.threads.answer_at(thread, at, std::move(answer));
}

void StreamScheduler::end_all_of(Process& process) {
  for (const OperationPtr& op : std::exchange(process.pending, {})) finish(op, node_.engine.now(), Status::unknown);
  for (uint32_t d = 0; d < node_.platform.node.devices; ++d) begin_waiting_kernels(global_device(process, d));
}

void StreamScheduler::clear(const std::vector<std::unique_ptr<Process>>& processes) {
  value_waits_.clear();
  // Operations hold those that come after them: release one at a time, or a long chain overflows the stack.
  for (const auto& process : processes) {
    for (const OperationPtr& op : process->pending) op->after.clear();
  }
}

}  // namespace fb::machine
