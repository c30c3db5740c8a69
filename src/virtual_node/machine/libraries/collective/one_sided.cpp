// Puts, signals and waits for signals: calls that no call of the other rank has to match.
//
// Order. Puts and signals to one rank are delivered in the order of their calls, each signal behind the data of its
// put; to different ranks they are concurrent. In a group, a wait begins behind the puts and signals before it, and
// those behind it wait for it. What happened before a signal happens before what comes behind the wait that counts it,
// and nothing else is ordered: the peer's buffers are written by an agent of the caller.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/wire/collectives.h"
#include "virtual_node/machine/libraries/collective/collectives.h"
#include "virtual_node/machine/process/carry_on.h"
#include "virtual_node/machine/process/stream_scheduler.h"

namespace fb::machine {

using wire::CollectiveKind;

namespace {

constexpr uint64_t kSignalBytes = 8;
// Clocks of signals that were not waited for: of more, the oldest are forgotten, and a wait for them orders more.
constexpr size_t kMostClocks = 4096;

}  // namespace

// The window of the other rank was registered in the same round as the caller's.
void Collectives::find_target(const CollectiveLaunch& launch, CollectivePart& part, std::string& fault) const {
  const Communicator& comm = *launch.comm;
  const wire::CollectiveCall& c = part.call;
  const auto& own = comm.members[launch.rank].windows;
  const CommMember& peer = comm.members[static_cast<size_t>(c.peer)];
  const auto window = own.find(c.window);
  if (window != own.end() && !peer.gone) {
    for (const auto& [id, range] : peer.windows) {
      if (range.round != window->second.round || !range.complete) continue;
      if (c.receive > range.bytes || part.send_bytes > range.bytes - c.receive) continue;
      if (part.send_bytes == 0) return;
      part.receive = node_.memory.find_bytes(*peer.process, range.address + c.receive, part.send_bytes);
    }
  }
  if (part.receive.host || !fault.empty()) return;
  fault = fmt::format("{}: {} bytes at offset {} are not in a window of rank {}", describe(c), part.send_bytes,
                      c.receive, c.peer);
}

void Collectives::start_phase(const LaunchPtr& launch) {
  const auto comm = launch->comm;
  std::map<int32_t, std::shared_ptr<std::deque<size_t>>> puts;  // by rank, in the order of their calls
  bool waits = false;
  for (size_t k = 0; k < launch->parts.size(); ++k) {
    CollectivePart& part = launch->parts[k];
    if (!is_one_sided(part.call.kind) || part.phase != launch->phase) continue;
    part.posted = true;
    ++launch->phase_left;
    if (part.call.kind == CollectiveKind::wait_signal) {
      comm->members[launch->rank].waits.push_back({launch, k, launch->end});
      waits = true;
      continue;
    }
    auto& in_order = puts[part.call.peer];
    if (!in_order) in_order = std::make_shared<std::deque<size_t>>();
    in_order->push_back(k);
  }
  for (const auto& [peer, in_order] : puts) put(launch, in_order, nullptr);
  // At an event of its own: this may be the end of another part.
  if (waits) {
    const Time at = std::max(launch->end, node_.engine.acting_time());
    node_.engine.schedule(at, comm->number << 20 | launch->rank,
                          [this, comm, rank = launch->rank, at] { check_waits(comm, rank, at); });
  }
}

// The first of the calls to one rank, and then the others. `before`: the clock behind those that were delivered.
void Collectives::put(const LaunchPtr& launch, std::shared_ptr<std::deque<size_t>> in_order, race::ClockRef before) {
  const OperationPtr op = launch->op.lock();
  if (!op || in_order->empty() || launch->over) return;
  const size_t index = in_order->front();
  in_order->pop_front();
  const CommMember& own = launch->comm->members[launch->rank];
  const CollectivePart& part = launch->parts[index];
  const uint32_t to = launch->comm->members[static_cast<size_t>(part.call.peer)].device;
  if (part.send_bytes != 0) {
    CollectiveNote note = op->collective.value_or(CollectiveNote{"copy engine", "put", 0, 0, 2, 0});
    note.bytes += part.send_bytes;
    op->collective = note;
  }
  auto signal = [this, launch, op, index, to, from = own.device, in_order = std::move(in_order),
                 before = std::move(before)](Time at) mutable {
    auto copy = std::make_shared<fabric::Copy>(node_.fabric.start_copy(from, from, to, kSignalBytes, at));
    carry_on(node_.fabric, node_.engine, op, std::move(copy),
             [this, launch, index, in_order = std::move(in_order), before = std::move(before)](Time end) mutable {
               if (launch->over) return;
               race::ClockRef after;
               deliver(launch, index, before, after);
               const auto comm = launch->comm;
               const auto peer = static_cast<uint32_t>(launch->parts[index].call.peer);
               launch->end = std::max(launch->end, end);
               put(launch, std::move(in_order), std::move(after));
               part_done({launch, index, launch->at}, end);
               check_waits(comm, peer, end);
             });
  };
  const Time at = std::max(launch->at, node_.engine.acting_time());
  if (part.send_bytes == 0) return signal(at);
  auto copy = std::make_shared<fabric::Copy>(node_.fabric.start_copy(own.device, own.device, to, part.send_bytes, at));
  carry_on(node_.fabric, node_.engine, op, std::move(copy), signal);
}

// The bytes and the signal are there.
void Collectives::deliver(const LaunchPtr& launch, size_t index, const race::ClockRef& before, race::ClockRef& after) {
  const OperationPtr op = launch->op.lock();
  CollectivePart& part = launch->parts[index];
  if (!op) return;
  SignalBox& box = launch->comm->members[static_cast<size_t>(part.call.peer)].signals[launch->rank];
  ++box.arrived;
  if (node_.checking) {
    Checking& checking = *node_.checking;
    const race::ClockRef ahead = part.phase == 0 ? before : checking.join(checking.so_far(*op), before);
    const uint32_t agent =
        checking.begin_part(*op, static_cast<uint32_t>(index), name_without_line(part.call), part.call.where, ahead);
    if (part.send.host)
      checking.access_of_part(agent, simt::AccessKind::load, *part.send.allocation, part.send.host, part.send_bytes);
    if (part.receive.host)
      checking.access_of_part(agent, simt::AccessKind::store, *part.receive.allocation, part.receive.host,
                              part.send_bytes);
    after = checking.end_part(*op, agent);
    // A signal says that those before it were delivered, too.
    if (!box.before.empty()) after = checking.join(after, box.before.rbegin()->second);
    box.before[box.arrived] = after;
    if (box.before.size() > kMostClocks) box.before.erase(box.before.begin());
  }
  if (!part.receive.host) return;
  node_.writes.note_operation(*part.receive.allocation, part.receive.host, part.send_bytes, "a put",
                              op->process->number, node_.engine.now());
  std::memmove(part.receive.host, part.send.host, part.send_bytes);
  node_.engine.watch().written(part.receive.host, part.send_bytes);
}

// Ends what the rank has waited for.
void Collectives::check_waits(const std::shared_ptr<Communicator>& comm, uint32_t rank, Time at) {
  CommMember& member = comm->members[rank];
  std::erase_if(member.waits, [](const PostedPart& p) { return p.launch->over; });
  std::vector<PostedPart> over;
  std::erase_if(member.waits, [&](const PostedPart& p) {
    const SignalBox& box = member.signals[static_cast<uint32_t>(p.call().peer)];
    if (box.arrived < p.part().number) return false;
    over.push_back(p);
    return true;
  });
  for (const PostedPart& p : over) {
    SignalBox& box = member.signals[static_cast<uint32_t>(p.call().peer)];
    const OperationPtr op = p.launch->op.lock();
    const auto clock = box.before.lower_bound(p.part().number);
    if (node_.checking && op && clock != box.before.end()) {
      node_.checking->inherit(*op, clock->second);
      // The last one stays: it is in those that are to come.
      box.before.erase(box.before.begin(), clock);
    }
    part_done(p, std::max(p.at, at));
  }
}

}  // namespace fb::machine
