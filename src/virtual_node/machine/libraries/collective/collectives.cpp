// Collective operations: from the call of a rank to the bytes that it gets.

#include "virtual_node/machine/libraries/collective/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <utility>

#include "common/wire/collectives.h"
#include "virtual_node/fabric/nccl_cards.h"
#include "virtual_node/machine/libraries/collective/collective_values.h"
#include "virtual_node/machine/libraries/collective/reduction.h"
#include "virtual_node/machine/process/operand_fault.h"
#include "virtual_node/machine/process/stream_scheduler.h"

namespace fb::machine {

using fabric::NcclOp;
using wire::CollectiveKind;
using wire::CollectivePeer;
using wire::CollectiveSpan;
using wire::Status;

namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 46;  // of a buffer: more than any device has
// Bytes of a rank that are computed before other events may run.
constexpr uint64_t kMostAtOnce = 8 << 20;
// A collective shares links piece by piece.
constexpr uint64_t kSliceBytes = 1 << 20, kMostSlices = 64;
// Alone it is as fast as the model says: its pieces weigh a little less.
constexpr double kAlone = 0.97;
// Of a block of NCCL's kernels.
constexpr uint32_t kRegistersPerThread = 96;

constexpr auto kModels = std::to_array<NcclOp>({
#define COLLECTIVE(name, function, family, peer, reduces, send, receive, model) NcclOp::model,
#include "common/wire/collectives.def"
});

NcclOp op_of(CollectiveKind kind) { return kModels[static_cast<size_t>(kind)]; }

// Bytes of a buffer of which one part has `one`.
uint64_t bytes_of(CollectiveSpan span, uint64_t one, uint32_t ranks, bool root) {
  switch (span) {
    case CollectiveSpan::none:
      return 0;
    case CollectiveSpan::one:
      return one;
    case CollectiveSpan::all:
      return one * ranks;
    case CollectiveSpan::root_one:
      return root ? one : 0;
    case CollectiveSpan::root_all:
      return root ? one * ranks : 0;
  }
  return 0;
}

bool has_parts_of_all(CollectiveSpan span) { return span == CollectiveSpan::all || span == CollectiveSpan::root_all; }

// What differs between calls that should match; empty: nothing.
std::string difference(const wire::CollectiveCall& a, const wire::CollectiveCall& b) {
  if (is_message(a.kind)) {
    const uint64_t x = a.count * size_of(a.type), y = b.count * size_of(b.type);
    return x == y ? "" : "count";
  }
  if (a.kind != b.kind) return "kind";
  if (a.count != b.count) return "count";
  if (a.type != b.type) return "type";
  if (has_root(a.kind) && a.peer != b.peer) return "root";
  if (facts_of(a.kind).reduces && a.op != b.op) return "operation";
  return "";
}

// What passes a device's port, and its memory, of a collective in which all of `port` pass the busiest one.
struct PortUse {
  uint64_t out = 0, in = 0;
};
PortUse port_use(CollectiveKind kind, uint64_t port, uint32_t ranks, bool root) {
  const uint64_t share = port / std::max(1u, ranks - 1);
  switch (kind) {
    case CollectiveKind::broadcast:
      return {port, root ? 0 : port};
    case CollectiveKind::reduce:
      return {root ? 0 : port, port};
    case CollectiveKind::gather:
      return root ? PortUse{0, port} : PortUse{share, 0};
    case CollectiveKind::scatter:
      return root ? PortUse{port, 0} : PortUse{0, share};
    default:
      return {port, port};
  }
}

}  // namespace

std::string name_without_line(const wire::CollectiveCall& c) {
  if (c.kind == CollectiveKind::signal) return fmt::format("ncclSignal to rank {}", c.peer);
  if (c.kind == CollectiveKind::wait_signal)
    return fmt::format("ncclWaitSignal for {} signal{} of rank {}", c.count, c.count == 1 ? "" : "s", c.peer);
  const wire::CollectiveFacts& facts = facts_of(c.kind);
  std::string text = fmt::format("{} of {} {}", facts.function, c.count, name_of(c.type));
  if (facts.reduces) text += fmt::format(" ({})", name_of(c.op));
  if (facts.peer == CollectivePeer::root) text += fmt::format(", root {}", c.peer);
  if (facts.peer == CollectivePeer::to) text += fmt::format(" to rank {}", c.peer);
  if (facts.peer == CollectivePeer::from) text += fmt::format(" from rank {}", c.peer);
  return text;
}

std::string describe(const wire::CollectiveCall& c) {
  const std::string text = name_without_line(c);
  return c.where[0] == '\0' ? text : fmt::format("{}, {}", text, c.where);
}

// Making operations

Status Collectives::read_calls(Process& process, const wire::Collective& m, std::span<const std::byte> blob,
                               CollectiveLaunch& launch) const {
  const CommHandle* handle = find(process, m.comm);
  if (!handle || handle->state != wire::CommState::ready || handle->finalized || handle->revoked || handle->suspended)
    return Status::invalid_handle;
  if (m.calls == 0 || m.calls > wire::kMostCollectiveCalls || m.more_streams > wire::kMostCollectiveStreams)
    return Status::invalid_value;
  if (blob.size() != m.calls * sizeof(wire::CollectiveCall) + m.more_streams * sizeof(wire::Id))
    return Status::invalid_value;
  launch.comm = handle->comm;
  launch.rank = handle->rank;
  if (launch.comm->members[launch.rank].local_device != m.stream.device) return Status::invalid_value;
  const uint32_t n = launch.comm->ranks();
  std::optional<bool> waits;  // of the one-sided call before
  for (uint32_t k = 0; k < m.calls; ++k) {
    CollectivePart part;
    wire::CollectiveCall& c = part.call;
    std::memcpy(&c, blob.data() + k * sizeof c, sizeof c);
    c.where[sizeof c.where - 1] = '\0';
    for (char& letter : c.where) {
      if (letter != '\0' && (letter < ' ' || letter > '~')) letter = '?';
    }
    if (!is_known(c.kind) || c.type > wire::ElementType::e5m2 || c.op > wire::ReduceOp::scaled_sum ||
        c.scalar_from > wire::ScalarFrom::device)
      return Status::invalid_value;
    const bool one_sided = is_one_sided(c.kind);
    if (has_peer(c.kind) && (c.peer < 0 || static_cast<uint32_t>(c.peer) >= n)) return Status::invalid_value;
    if (c.count > kMostBytes / 8 / n) return Status::invalid_value;
    const uint64_t one = c.count * size_of(c.type);
    const bool root = static_cast<int64_t>(launch.rank) == c.peer;
    part.send_bytes = bytes_of(facts_of(c.kind).send, one, n, root);
    part.receive_bytes = bytes_of(facts_of(c.kind).receive, one, n, root);
    if (c.kind == CollectiveKind::wait_signal && (c.count == 0 || c.count > INT32_MAX)) return Status::invalid_value;
    if (c.kind == CollectiveKind::put_signal) {
      const auto& windows = launch.comm->members[launch.rank].windows;
      const auto window = windows.find(c.window);
      if (window == windows.end() || window->second.round == 0 || c.receive > kMostBytes) return Status::invalid_value;
    }
    // A collective of nothing is no operation at all; a message of nothing is one.
    if (c.count == 0 && !is_message(c.kind) && !one_sided) continue;
    if (one_sided) {
      const bool wait = c.kind == CollectiveKind::wait_signal;
      if (waits && *waits != wait) ++launch.phases;
      waits = wait;
      part.phase = launch.phases;
    }
    launch.parts.push_back(std::move(part));
  }
  return Status::ok;
}

Status Collectives::make(Process& process, const wire::Collective& m, std::span<const std::byte> blob,
                         OperationPtr& op) {
  if (const Status s = sticky_error(process, m.stream.device); s != Status::ok) return s;
  auto launch = std::make_shared<CollectiveLaunch>();
  if (const Status s = read_calls(process, m, blob, *launch); s != Status::ok) return s;
  op = StreamScheduler::make_operation(process, m.stream.device, "NCCL");
  if (launch->parts.empty()) return Status::ok;
  op->name = launch->parts.size() == 1
                 ? describe(launch->parts.front().call)
                 : fmt::format("{} calls of NCCL, the first {}", launch->parts.size(), describe(launch->parts[0].call));
  op->payload = launch->parts.size() * sizeof(CollectivePart);
  op->joint = true;
  op->kind = WorkKind::library;
  launch->op = op;
  launch->left = launch->parts.size();
  op->on_issue = [this, launch] { issue(launch); };
  op->on_end.push_back([this, launch] {
    if (launch->over) return;
    drop(launch, fmt::format("rank {} has failed", launch->rank));
    end_launch(launch);
  });
  op->work = [this, launch](const OperationPtr&) {
    launch->ready = true;
    start_next(launch->comm, launch->rank);
  };
  return Status::ok;
}

Status Collectives::estimate(Process& process, const wire::Collective& m, std::span<const std::byte> blob, Time& time) {
  CollectiveLaunch launch;
  if (const Status s = read_calls(process, m, blob, launch); s != Status::ok) return s;
  Time latency = 0, transfer = 0;
  for (const CollectivePart& part : launch.parts) {
    if (is_one_sided(part.call.kind)) continue;
    const auto choice = fabric::choose_nccl(node_.platform, question_of(*launch.comm, part.call));
    latency = std::max(latency, choice.latency);
    transfer += choice.transfer;
  }
  time = latency + transfer;
  return Status::ok;
}

// Calls get their numbers when they are issued: that is what they are matched by.
void Collectives::issue(const LaunchPtr& launch) {
  CommMember& member = launch->comm->members[launch->rank];
  member.queue.push_back(launch);
  for (CollectivePart& part : launch->parts) {
    const auto peer = static_cast<uint32_t>(part.call.peer);
    switch (part.call.kind) {
      case CollectiveKind::send:
        part.number = ++member.sends[peer];
        break;
      case CollectiveKind::receive:
        part.number = ++member.receives[peer];
        break;
      case CollectiveKind::put_signal:
      case CollectiveKind::signal:
        part.number = ++launch->comm->members[peer].signals[launch->rank].sent;
        break;
      case CollectiveKind::wait_signal:
        part.number = member.signals[peer].awaited += part.call.count;
        break;
      default:
        part.number = ++member.collectives;
    }
  }
}

void Collectives::start_next(const std::shared_ptr<Communicator>& comm, uint32_t rank) {
  CommMember& member = comm->members[rank];
  while (!member.queue.empty() && member.queue.front()->over) member.queue.pop_front();
  if (member.queue.empty()) return;
  const LaunchPtr next = member.queue.front();
  if (next->ready && !std::exchange(next->started, true)) start(next);
}

bool Collectives::find_buffers(CollectiveLaunch& launch, std::string& fault) {
  CommMember& member = launch.comm->members[launch.rank];
  Process& process = *member.process;
  const Context& context = node_.memory.context(process, member.local_device);
  const auto look = [&](uint64_t address, uint64_t bytes, const char* what, const wire::CollectiveCall& call) {
    Bytes found;
    if (bytes == 0) return found;
    found = node_.memory.find_bytes(process, address, bytes);
    if (found.host && !context.space.find(address)) found = {};
    if (!found.host && fault.empty())
      fault = fmt::format("{}: {}", describe(call),
                          explain_operand(context.space, what, address, bytes, member.local_device));
    return found;
  };
  for (CollectivePart& part : launch.parts) {
    const wire::CollectiveCall& c = part.call;
    part.send = look(c.send, part.send_bytes, "the send buffer", c);
    if (!is_one_sided(c.kind)) part.receive = look(c.receive, part.receive_bytes, "the receive buffer", c);
    if (c.kind == CollectiveKind::put_signal) find_target(launch, part, fault);
    if (c.scalar_from == wire::ScalarFrom::device) part.scalar = look(c.scalar, size_of(c.type), "the scalar", c);
  }
  return fault.empty();
}

// The kernel begins: it takes its multiprocessors and waits there for the other ranks.
void Collectives::start(const LaunchPtr& launch) {
  const OperationPtr op = launch->op.lock();
  if (!op) return;
  CommMember& member = launch->comm->members[launch->rank];
  std::string fault;
  if (!find_buffers(*launch, fault)) {
    Process& process = *member.process;
    node_.log.count_fault();
    node_.report(make_incident(record::IncidentReason::kernel_fault, process.rank,
                               fmt::format("{}, device {}: {}", name_of(process), member.local_device, fault)));
    op->faulted = true;
    return node_.streams.fail(process, member.local_device, Status::illegal_address);
  }
  // Copy engines do what is one-sided.
  if (std::ranges::all_of(launch->parts, [](const CollectivePart& part) { return is_one_sided(part.call.kind); }))
    return post(launch);
  uint32_t channels = 1;
  for (const CollectivePart& part : launch->parts)
    channels = std::max(channels, fabric::choose_nccl(node_.platform, question_of(*launch->comm, part.call)).channels);
  BlockNeeds needs;
  needs.threads = (std::min(node_.platform.nccl.threads, node_.limits.threads_per_sm) + 31) / 32 * 32;
  needs.registers = std::min(needs.threads * kRegistersPerThread, node_.limits.registers_per_sm);
  needs.shared = node_.limits.shared_reserved_per_block;
  node_.engine.make_resident(member.device, needs, channels, [this, launch](Engine::Residents residents) {
    if (launch->over) return node_.engine.release(residents);
    launch->residents = std::move(residents);
    post(launch);
  });
}

// Matching

void Collectives::post(const LaunchPtr& launch) {
  const OperationPtr op = launch->op.lock();
  if (!op) return;
  launch->at = launch->end = std::max(op->begun, node_.engine.acting_time());
  for (size_t k = 0; k < launch->parts.size() && !launch->over; ++k) {
    if (!is_one_sided(launch->parts[k].call.kind)) arrive(launch, k);
  }
  start_phase(launch);
}

void Collectives::arrive(const LaunchPtr& launch, size_t index) {
  const auto comm = launch->comm;
  CollectivePart& part = launch->parts[index];
  part.posted = true;
  const bool message = is_message(part.call.kind);
  const auto peer = static_cast<uint32_t>(part.call.peer);
  const bool sends = part.call.kind == CollectiveKind::send;
  const std::pair<uint32_t, uint32_t> ends = sends ? std::pair(launch->rank, peer) : std::pair(peer, launch->rank);
  ExchangePtr& exchange = message ? comm->messages[ends][part.number] : comm->collectives[part.number];
  if (!exchange) {
    exchange = std::make_shared<Exchange>();
    exchange->number = part.number;
    exchange->message = message;
    exchange->posts.resize(message ? 2 : comm->ranks());
    if (message) {
      exchange->ranks = {ends.first, ends.second};
    } else {
      for (uint32_t r = 0; r < comm->ranks(); ++r) exchange->ranks.push_back(r);
    }
  }
  const ExchangePtr held = exchange;
  const size_t slot = !message ? launch->rank : sends ? 0 : 1;
  held->posts[slot] = {launch, index, launch->at};
  for (const PostedPart& other : held->posts) {
    if (!other || other.launch == launch || !held->mismatch.empty()) continue;
    held->mismatch = difference(other.call(), part.call);
  }
  const bool all = std::ranges::all_of(held->posts, [](const PostedPart& p) { return static_cast<bool>(p); });
  if (all && held->mismatch.empty()) begin(comm, held);
}

fabric::NcclQuestion Collectives::question_of(const Communicator& comm, const wire::CollectiveCall& c) const {
  fabric::NcclQuestion q;
  q.op = op_of(c.kind);
  const uint64_t one = c.count * size_of(c.type);
  const wire::CollectiveFacts& facts = facts_of(c.kind);
  const bool of_all = has_parts_of_all(facts.send) || has_parts_of_all(facts.receive) || is_one_sided(c.kind);
  q.ranks = is_message(c.kind) ? 2 : comm.ranks();
  q.bytes = of_all ? one * comm.ranks() : one;
  std::set<uint32_t> nodes;
  for (const CommMember& m : comm.members) nodes.insert(node_.platform.node_of(m.device));
  q.nodes = static_cast<uint32_t>(nodes.size());
  q.switch_reduces = switch_reduces(c.type, c.op);
  q.most_channels = comm.most_channels;
  return q;
}

bool Collectives::in_windows(const Communicator& comm, const Exchange& exchange) const {
  for (size_t k = 0; k < exchange.posts.size(); ++k) {
    const CollectivePart& part = exchange.posts[k].part();
    const auto covered = [&](uint64_t address, uint64_t bytes) {
      return bytes == 0 || std::ranges::any_of(comm.members[exchange.ranks[k]].windows, [&](const auto& w) {
               const CommWindowRange& r = w.second;
               return r.complete && r.round != 0 && address >= r.address && bytes <= r.bytes &&
                      address - r.address <= r.bytes - bytes;
             });
    };
    if (!covered(part.call.send, part.send_bytes) || !covered(part.call.receive, part.receive_bytes)) return false;
  }
  return true;
}

// Time

void Collectives::begin(const std::shared_ptr<Communicator>& comm, const ExchangePtr& exchange) {
  exchange->running = true;
  Time latest = 0;
  for (const PostedPart& p : exchange->posts) latest = std::max(latest, p.at);
  auto question = question_of(*comm, exchange->posts.front().call());
  question.in_windows = !exchange->message && in_windows(*comm, *exchange);
  if (exchange->message) {
    const auto node_of = [&](size_t k) { return node_.platform.node_of(comm->members[exchange->ranks[k]].device); };
    question.nodes = node_of(0) == node_of(1) ? 1 : 2;
    if (exchange->ranks[0] == exchange->ranks[1]) question.ranks = 1;
  }
  const fabric::NcclChoice choice = fabric::choose_nccl(node_.platform, question);
  for (const PostedPart& p : exchange->posts) {
    const OperationPtr op = p.launch->op.lock();
    if (!op) continue;
    CollectiveNote note;
    note.algorithm = fabric::name_of(choice.algorithm);
    note.protocol = fabric::name_of(choice.protocol);
    note.bytes = question.bytes + (op->collective ? op->collective->bytes : 0);
    note.channels = choice.channels;
    note.ranks = question.ranks;
    op->collective = note;
  }
  const Time at = node_.fabric.shares().later(latest, choice.latency, platform::Group::latency);
  const uint64_t tie = exchange->number << 20 | comm->number;
  node_.engine.schedule(at, tie, [this, comm, exchange, choice, at] {
    // Messages share the links; collectives of one communicator use them one after the other.
    if (exchange->message) return transfer(comm, exchange, choice, at);
    const auto go = [this, comm, exchange, choice, at] {
      comm->transferring = true;
      transfer(comm, exchange, choice, std::max(at, node_.engine.now()));
    };
    if (comm->transferring) {
      comm->transfers.emplace_back(go);
    } else {
      go();
    }
  });
}

void Collectives::transfer(const std::shared_ptr<Communicator>& comm, const ExchangePtr& exchange,
                           fabric::NcclChoice choice, Time at) {
  struct Flow {
    uint64_t slices = 1, done = 0;
    double weight = 1;
    Time next = 0;
    std::vector<fabric::CardEdge> cards;
  };
  auto flow = std::make_shared<Flow>();
  flow->slices = std::clamp<uint64_t>(choice.port_bytes / kSliceBytes, 1, kMostSlices);
  flow->next = at;
  if (choice.port_bytes != 0 && choice.transfer != 0) {
    // Alone it is as fast as the model says: its bytes weigh no more than the link carries in that time.
    const double room = kAlone * node_.fabric.port_bandwidth() * static_cast<double>(choice.transfer) * 1e-12;
    const double wanted = choice.wire * node_.fabric.store_weight();
    flow->weight = std::min(wanted, room / static_cast<double>(choice.port_bytes));
  }
  const auto kind = exchange->posts.front().call().kind;
  const auto root = static_cast<uint32_t>(exchange->posts.front().call().peer);
  if (choice.card_bytes != 0) {
    std::vector<uint32_t> devices;
    for (const uint32_t rank : exchange->ranks) devices.push_back(comm->members[rank].device);
    flow->cards = fabric::card_edges(node_.platform, op_of(kind), choice.algorithm, devices, has_root(kind) ? root : 0);
  }
  auto step = std::make_shared<std::function<void()>>();
  *step = [this, comm, exchange, choice, flow, kind, root, weak = std::weak_ptr(step)] {
    const Time begin = flow->next;
    Time end = node_.fabric.shares().later(begin, choice.transfer / flow->slices, platform::Group::bandwidth);
    for (size_t k = 0; k < exchange->ranks.size(); ++k) {
      const uint32_t rank = exchange->ranks[k];
      PortUse use = port_use(kind, choice.port_bytes / flow->slices, comm->ranks(), rank == root);
      if (exchange->message) use = k == 0 ? PortUse{use.out, 0} : PortUse{0, use.in};
      end = std::max(end, node_.fabric.pass_through(comm->members[rank].device, use.out, use.in, use.out + use.in,
                                                    flow->weight, begin));
    }
    for (const fabric::CardEdge& edge : flow->cards) {
      const double bytes = kAlone * choice.wire * edge.share * static_cast<double>(choice.card_bytes);
      end =
          std::max(end, node_.network.stream(edge.from, edge.to,
                                             static_cast<uint64_t>(bytes / static_cast<double>(flow->slices)), begin));
    }
    flow->next = end;
    const bool last = ++flow->done == flow->slices;
    const uint64_t tie = exchange->number << 20 | comm->number;
    if (!last) {
      node_.engine.schedule(end, tie, [self = weak.lock()] { (*self)(); });
      return;
    }
    node_.engine.schedule(end, tie, [this, comm, exchange, choice, end] { finish(comm, exchange, choice, end); },
                          {EventAbout::Kind::memory, comm->members[exchange->ranks.front()].device});
  };
  (*step)();
}

void Collectives::finish(const std::shared_ptr<Communicator>& comm, const ExchangePtr& exchange,
                         const fabric::NcclChoice& choice, Time at) {
  if (!exchange->message) {
    comm->transferring = false;
    if (!comm->transfers.empty()) {
      const auto next = std::move(comm->transfers.front());
      comm->transfers.pop_front();
      next();
    }
  }
  // A rank has left meanwhile: its data never came, and the others wait for it.
  for (const PostedPart& p : exchange->posts) {
    if (p.launch->dropped.empty()) continue;
    exchange->running = false;
    exchange->mismatch = p.launch->dropped;
    return;
  }
  write_results(comm, exchange, choice, at);
}

// Results

void Collectives::note_accesses(const Exchange& exchange) {
  for (const PostedPart& p : exchange.posts) {
    const OperationPtr op = p.launch->op.lock();
    if (!op || op->has_ended) continue;
    CollectivePart& part = p.part();
    if (node_.checking) {
      const uint32_t agent = node_.checking->begin_part(*op, static_cast<uint32_t>(p.index),
                                                        name_without_line(part.call), part.call.where);
      if (part.send.host)
        node_.checking->access_of_part(agent, simt::AccessKind::load, *part.send.allocation, part.send.host,
                                       part.send_bytes);
      if (part.scalar.host)
        node_.checking->access_of_part(agent, simt::AccessKind::load, *part.scalar.allocation, part.scalar.host,
                                       size_of(part.call.type));
      if (part.receive.host)
        node_.checking->access_of_part(agent, simt::AccessKind::store, *part.receive.allocation, part.receive.host,
                                       part.receive_bytes);
      node_.checking->end_part(*op, agent);
    }
    if (part.receive.host)
      node_.writes.note_operation(*part.receive.allocation, part.receive.host, part.receive_bytes, "a collective",
                                  op->process->number, node_.engine.now());
  }
}

// From each rank whose data went into a rank's result to that rank, and no other edges.
void Collectives::note_order(const Exchange& exchange) {
  if (!node_.checking) return;
  const wire::CollectiveCall& call = exchange.posts.front().call();
  const auto root = static_cast<uint32_t>(call.peer);
  const auto leads = [&](uint32_t from, uint32_t to) {
    switch (call.kind) {
      case CollectiveKind::broadcast:
      case CollectiveKind::scatter:
        return from == root;
      case CollectiveKind::reduce:
      case CollectiveKind::gather:
        return to == root;
      default:
        return true;
    }
  };
  for (size_t to = 0; to < exchange.posts.size(); ++to) {
    const OperationPtr op = exchange.posts[to].launch->op.lock();
    if (!op || op->has_ended) continue;
    for (size_t from = 0; from < exchange.posts.size(); ++from) {
      if (from == to || (exchange.message ? from != 0 : !leads(exchange.ranks[from], exchange.ranks[to]))) continue;
      if (const OperationPtr other = exchange.posts[from].launch->op.lock())
        node_.checking->inherit(*op, other->incoming);
    }
  }
}

void Collectives::write_results(const std::shared_ptr<Communicator>& comm, const ExchangePtr& exchange,
                                const fabric::NcclChoice& choice, Time at) {
  note_accesses(*exchange);
  note_order(*exchange);
  const wire::CollectiveCall& call = exchange->posts.front().call();
  CollectiveValues values;
  values.kind = call.kind;
  values.type = call.type;
  values.op = call.op;
  values.algorithm = choice.algorithm;
  values.root = static_cast<uint32_t>(std::max(call.peer, 0));
  values.count = call.count;
  for (const PostedPart& p : exchange->posts) {
    const CollectivePart& part = p.part();
    CollectiveEnd end{part.send.host, part.receive.host, part.call.scalar};
    if (part.scalar.host) {
      end.scalar = 0;
      std::memcpy(&end.scalar, part.scalar.host, size_of(part.call.type));
    }
    values.ends.push_back(end);
  }
  auto pieces = std::make_shared<std::vector<std::function<void()>>>(pieces_of(std::move(values), kMostAtOnce));
  // Large ones in several events, so that the machine stays responsive.
  auto next = std::make_shared<size_t>(0);
  auto step = std::make_shared<std::function<void()>>();
  *step = [this, comm, exchange, pieces, next, at, weak = std::weak_ptr(step)] {
    constexpr size_t kAtOnce = 8;
    for (size_t k = 0; k < kAtOnce && *next < pieces->size(); ++k) {
      // Memory of a rank that has gone meanwhile is kept by the parts.
      (*pieces)[(*next)++]();
    }
    if (*next < pieces->size()) {
      node_.engine.schedule(at, exchange->number << 20 | comm->number, [self = weak.lock()] { (*self)(); },
                            {EventAbout::Kind::memory, comm->members[exchange->ranks.front()].device});
      return;
    }
    for (const PostedPart& p : exchange->posts) {
      const CollectivePart& part = p.part();
      if (part.receive.host) node_.engine.watch().written(part.receive.host, part.receive_bytes);
    }
    if (exchange->message) {
      const auto ends = std::pair(exchange->ranks[0], exchange->ranks[1]);
      comm->messages[ends].erase(exchange->number);
      if (comm->messages[ends].empty()) comm->messages.erase(ends);
    } else {
      comm->collectives.erase(exchange->number);
    }
    for (const PostedPart& p : std::exchange(exchange->posts, {})) part_done(p, at);
  };
  (*step)();
}

void Collectives::part_done(const PostedPart& post, Time at) {
  const LaunchPtr launch = post.launch;
  CollectivePart& part = post.part();
  if (launch->over || std::exchange(part.done, true)) return;
  part.send = part.receive = part.scalar = {};
  launch->end = std::max(launch->end, at);
  const bool end_of_phase = is_one_sided(part.call.kind) && --launch->phase_left == 0;
  if (--launch->left != 0) {
    if (end_of_phase) {
      ++launch->phase;
      start_phase(launch);
    }
    return;
  }
  const OperationPtr op = launch->op.lock();
  launch->over = true;
  if (op) {
    if (op->collective && launch->end > launch->at) {
      const double factor = fabric::bus_factor(op_of(post.call().kind), std::max(1u, op->collective->ranks));
      op->collective->bus_bandwidth = static_cast<double>(op->collective->bytes) * factor /
                                      (static_cast<double>(launch->end - launch->at) * 1e-12) * 1e-9;
    }
    node_.log.add("collective", {op->device, launch->comm->number, part.number, launch->end});
    node_.streams.finish(op, launch->end);
  }
  end_launch(launch);
}

// The rank's next operation may start; its multiprocessors are free.
void Collectives::end_launch(const LaunchPtr& launch) {
  launch->over = true;
  if (const auto residents = std::exchange(launch->residents, std::nullopt)) node_.engine.release(*residents);
  const auto comm = launch->comm;
  CommMember& member = comm->members[launch->rank];
  std::erase(member.queue, launch);
  start_next(comm, launch->rank);
  for (const CommMember& m : comm->members) {
    if (m.handle && m.handle->finalized) answer_waiting(*m.handle, node_.engine.now());
  }
}

// The launch will not take part any more: what it was to match never begins.
void Collectives::drop(const LaunchPtr& launch, const std::string& why) {
  launch->over = true;
  launch->dropped = why;
  const auto leave = [&](auto& exchanges) {
    for (auto& [number, exchange] : exchanges) {
      for (PostedPart& p : exchange->posts) {
        if (p.launch == launch && !exchange->running) exchange->mismatch = why;
      }
    }
  };
  leave(launch->comm->collectives);
  for (auto& [ends, exchanges] : launch->comm->messages) leave(exchanges);
}

}  // namespace fb::machine
