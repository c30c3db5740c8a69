// How communicators are made, changed and ended.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "virtual_node/machine/libraries/collective/collectives.h"
#include "virtual_node/machine/process/stream_scheduler.h"

namespace fb::machine {

using wire::CommState;
using wire::Id;
using wire::Status;

namespace {

constexpr uint64_t kIdMagic = 0x4449'4d4d'4f43'4246;    // "FBCOMMID"
constexpr uint64_t kGrowMagic = 0x574f'5247'4d4f'4346;  // "FCOMGROW"
constexpr int32_t kMostRanks = 1024;
constexpr size_t kMostComms = 4096;  // of a process

// What a communicator does for all its ranks happens once, at a time and with a tie that do not depend on the order in
// which its ranks came.
uint64_t tie_of(const Communicator& comm) { return comm.token != 0 ? comm.token : comm.number; }

}  // namespace

Status Collectives::make_id(Process& process, Id parent, wire::CommId& id) {
  const uint64_t token = (uint64_t{process.number} + 1) << 32 | process.next_id++;
  if (parent != 0) {
    const CommHandle* held = find(process, parent);
    if (!held || held->state != CommState::ready || held->finalized || held->aborted) return Status::invalid_handle;
    // One at a time: the next after the communicator has grown.
    const GrowKey key{held->comm.get(), held->comm->members[held->rank].grow_rounds};
    if (const auto found = growths_.find(key); found != growths_.end() && found->second.token != 0)
      return Status::not_permitted;
    GrowRound& round = growths_[key];
    round.parent = held->comm;
    round.token = token;
    growths_by_token_[token] = key;
  }
  const wire::IpcToken proof = node_.tokens.handle_of(parent != 0 ? kGrowMagic : kIdMagic, token);
  std::memcpy(id.bytes, proof.bytes, sizeof proof.bytes);
  return Status::ok;
}

CommHandle* Collectives::find(const Process& process, Id id) const {
  const auto found = process.comms.find(id);
  return found == process.comms.end() ? nullptr : found->second.get();
}

Status Collectives::create(HostThread& thread, const wire::CommCreate& m, std::span<const std::byte> excluded,
                           Id& made) {
  Process& process = *thread.process;
  if (!node_.memory.valid_device(m.device)) return Status::invalid_device;
  if (const Status s = sticky_error(process, m.device); s != Status::ok) return s;
  if (!process.may_make_more() || process.comms.size() >= kMostComms) return Status::out_of_memory;
  thread.spend(node_.platform.nccl.call);
  auto handle = std::make_shared<CommHandle>();
  handle->since = thread.now;
  Status status = Status::invalid_value;
  switch (m.origin) {
    case wire::CommOrigin::init:
      handle->about = "ncclCommInitRank";
      status = join(thread, m, handle);
      break;
    case wire::CommOrigin::split:
      handle->about = "ncclCommSplit";
      status = split(thread, m, handle);
      break;
    case wire::CommOrigin::shrink:
      handle->about = "ncclCommShrink";
      status = shrink(thread, m, excluded, handle);
      break;
    case wire::CommOrigin::grow:
      handle->about = "ncclCommGrow";
      status = grow(thread, m, handle);
      break;
  }
  if (status != Status::ok) return status;
  made = process.next_id++;
  process.comms[made] = std::move(handle);
  return Status::ok;
}

Status Collectives::join(HostThread& thread, const wire::CommCreate& m, const std::shared_ptr<CommHandle>& handle) {
  if (m.ranks < 1 || m.ranks > kMostRanks || m.rank < 0 || m.rank >= m.ranks) return Status::invalid_value;
  wire::IpcToken proof;
  std::memcpy(proof.bytes, m.id.bytes, sizeof proof.bytes);
  const uint64_t token = node_.tokens.token_of(kIdMagic, proof);
  if (token == 0) return Status::invalid_value;
  auto& comm = joining_[token];
  if (!comm) {
    comm = std::make_shared<Communicator>();
    comm->token = token;
    comm->members.resize(static_cast<size_t>(m.ranks));
    add(comm);
  }
  if (comm->ranks() != static_cast<uint32_t>(m.ranks)) return Status::invalid_value;
  CommMember& member = comm->members[static_cast<size_t>(m.rank)];
  if (member.process) return Status::invalid_value;
  member.process = thread.process;
  member.local_device = m.device;
  member.device = global_device(*thread.process, m.device);
  member.handle = handle;
  handle->comm = comm;
  handle->rank = static_cast<uint32_t>(m.rank);
  if (m.most_channels != 0) comm->most_channels = std::max(comm->most_channels, m.most_channels);
  if (!std::ranges::all_of(comm->members, [](const CommMember& c) { return c.process != nullptr; })) return Status::ok;
  Time latest = 0;
  for (const CommMember& c : comm->members) latest = std::max(latest, c.handle->since);
  const Time at = latest + node_.platform.nccl.init;
  joining_.erase(token);
  node_.engine.schedule(at, tie_of(*handle->comm), [this, comm = handle->comm, at] { complete(comm, at); });
  return Status::ok;
}

// All ranks have come. Two of them on one device is an error on all.
void Collectives::complete(const std::shared_ptr<Communicator>& comm, Time at) {
  comm->number = next_number_++;
  std::set<uint32_t> devices;
  for (const CommMember& m : comm->members) devices.insert(m.device);
  const bool distinct = devices.size() == comm->members.size();
  comm->made = distinct;
  for (CommMember& m : comm->members) {
    if (!m.handle || m.gone) continue;
    set_state(*m.handle, distinct ? CommState::ready : CommState::failed, distinct ? Status::ok : Status::illegal_state,
              at);
  }
}

void Collectives::set_state(CommHandle& handle, CommState state, Status error, Time at) {
  handle.state = state;
  handle.error = error;
  handle.since = at;
  answer_waiting(handle, at);
}

bool Collectives::in_progress(const CommHandle& handle) {
  if (handle.state == CommState::in_progress) return true;
  if (handle.state != CommState::ready) return false;
  if (handle.open_rounds != 0) return true;
  if (!handle.finalized || !handle.comm) return false;
  return std::ranges::any_of(handle.comm->members, [](const CommMember& m) { return !m.gone && !m.queue.empty(); });
}

void Collectives::answer_waiting(CommHandle& handle, Time at) {
  if (in_progress(handle)) return;
  for (const auto& thread : std::exchange(handle.waiting, {})) {
    Answer answer;
    wire::CommFacts facts;
    for (const auto& [id, held] : thread->process->comms) {
      if (held.get() == &handle) this->facts(*thread->process, id, facts);
    }
    answer.set_body(facts);
    node_.threads.answer_at(*thread, std::max(at, thread->now), std::move(answer));
  }
}

Status Collectives::wait(HostThread& thread, Id id) {
  CommHandle* handle = find(*thread.process, id);
  if (!handle) return Status::invalid_handle;
  handle->waiting.push_back(thread.shared_from_this());
  const auto held = thread.process->comms.at(id);
  node_.engine.schedule(thread.now, thread.tie, [this, held] { answer_waiting(*held, node_.engine.now()); });
  return kLater;
}

Status Collectives::facts(const Process& process, Id id, wire::CommFacts& facts) const {
  const CommHandle* handle = find(process, id);
  if (!handle) return Status::invalid_handle;
  facts.state = in_progress(*handle) ? CommState::in_progress : handle->state;
  facts.error = handle->error;
  facts.symmetric = node_.platform.peer.nvlink && node_.platform.node.nodes == 1 ? 1 : 0;
  if (!handle->comm) return Status::ok;
  facts.rank = static_cast<int32_t>(handle->rank);
  facts.ranks = static_cast<int32_t>(handle->comm->ranks());
  facts.device = handle->comm->members[handle->rank].local_device;
  return Status::ok;
}

// Splits: the k-th of each rank of the parent belong together.

Status Collectives::split(HostThread& thread, const wire::CommCreate& m, const std::shared_ptr<CommHandle>& handle) {
  const CommHandle* held = find(*thread.process, m.parent);
  if (!held || held->state != CommState::ready || held->finalized || held->aborted) return Status::invalid_handle;
  const auto parent = held->comm;
  CommMember& member = parent->members[held->rank];
  SplitRound& round = splits_[{parent.get(), member.split_rounds++}];
  const uint64_t number = member.split_rounds - 1;
  if (round.handles.empty()) {
    round.parent = parent;
    round.handles.resize(parent->ranks());
    round.colors.resize(parent->ranks());
    round.keys.resize(parent->ranks());
    round.most_channels.resize(parent->ranks());
  }
  round.handles[held->rank] = handle;
  round.colors[held->rank] = m.color;
  round.keys[held->rank] = m.key;
  round.most_channels[held->rank] = m.most_channels;
  round.latest = std::max(round.latest, thread.now);
  if (!std::ranges::all_of(round.handles, [](const auto& h) { return h != nullptr; })) return Status::ok;
  const Time at = round.latest + node_.platform.nccl.init;
  node_.engine.schedule(at, tie_of(*parent), [this, parent, number, at] {
    const auto found = splits_.find({parent.get(), number});
    if (found == splits_.end()) return;
    SplitRound complete_round = std::move(found->second);
    splits_.erase(found);
    split_up(*parent, complete_round, at);
  });
  return Status::ok;
}

void Collectives::split_up(Communicator& parent, SplitRound& round, Time at) {
  std::map<int32_t, std::vector<std::pair<int32_t, uint32_t>>> colors;  // color → {key, rank of the parent}
  for (uint32_t r = 0; r < parent.ranks(); ++r) {
    if (!round.handles[r]) continue;
    if (round.colors[r] < 0) {
      set_state(*round.handles[r], CommState::ended, Status::ok, at);
      continue;
    }
    colors[round.colors[r]].emplace_back(round.keys[r], r);
  }
  for (auto& [color, ranks] : colors) {
    std::ranges::sort(ranks);
    auto comm = std::make_shared<Communicator>();
    comm->members.resize(ranks.size());
    comm->most_channels = parent.most_channels;
    for (uint32_t k = 0; k < ranks.size(); ++k) {
      const CommMember& from = parent.members[ranks[k].second];
      CommMember& member = comm->members[k];
      member.process = from.process;
      member.device = from.device;
      member.local_device = from.local_device;
      member.handle = round.handles[ranks[k].second];
      member.handle->comm = comm;
      member.handle->rank = k;
      if (const uint32_t most = round.most_channels[ranks[k].second]; most != 0) comm->most_channels = most;
    }
    add(comm);
    complete(comm, at);
  }
}

// The survivors call, with the same list.
Status Collectives::shrink(HostThread& thread, const wire::CommCreate& m, std::span<const std::byte> excluded,
                           const std::shared_ptr<CommHandle>& handle) {
  const CommHandle* held = find(*thread.process, m.parent);
  if (!held || held->state != CommState::ready || held->aborted) return Status::invalid_handle;
  const auto parent = held->comm;
  if (excluded.empty() || excluded.size() % sizeof(int32_t) != 0 ||
      excluded.size() / sizeof(int32_t) >= parent->ranks())
    return Status::invalid_value;
  std::vector<int32_t> out(excluded.size() / sizeof(int32_t));
  std::memcpy(out.data(), excluded.data(), excluded.size());
  std::ranges::sort(out);
  const auto n = static_cast<int32_t>(parent->ranks());
  if (std::ranges::adjacent_find(out) != out.end() || out.front() < 0 || out.back() >= n) return Status::invalid_value;
  if (std::ranges::binary_search(out, static_cast<int32_t>(held->rank))) return Status::invalid_value;
  if (m.ends_parent != 0) give_up(parent, held->rank, "has shrunk it", thread.now);
  CommMember& member = parent->members[held->rank];
  const uint64_t number = member.shrink_rounds[out]++;
  SplitRound& round = shrinks_[{parent.get(), out, number}];
  if (round.handles.empty()) {
    round.parent = parent;
    round.handles.resize(parent->ranks());
    round.colors.assign(parent->ranks(), 0);
    round.keys.assign(parent->ranks(), 0);
    round.most_channels.resize(parent->ranks());
  }
  round.handles[held->rank] = handle;
  round.most_channels[held->rank] = m.most_channels;
  round.latest = std::max(round.latest, thread.now);
  const auto there = std::ranges::count_if(round.handles, [](const auto& h) { return h != nullptr; });
  if (static_cast<size_t>(there) != parent->ranks() - out.size()) return Status::ok;
  const Time at = round.latest + node_.platform.nccl.init;
  node_.engine.schedule(at, tie_of(*parent), [this, parent, out, number, at] {
    const auto found = shrinks_.find({parent.get(), out, number});
    if (found == shrinks_.end()) return;
    SplitRound complete_round = std::move(found->second);
    shrinks_.erase(found);
    split_up(*parent, complete_round, at);
  });
  return Status::ok;
}

// Ranks of the parent keep their numbers; others bring the id that one of those has made.
Status Collectives::grow(HostThread& thread, const wire::CommCreate& m, const std::shared_ptr<CommHandle>& handle) {
  uint64_t token = 0;
  if (m.has_id != 0 || m.parent == 0) {
    wire::IpcToken proof;
    std::memcpy(proof.bytes, m.id.bytes, sizeof proof.bytes);
    token = node_.tokens.token_of(kGrowMagic, proof);
    if (!growths_by_token_.contains(token)) return Status::invalid_value;
  }
  GrowKey key;
  CommMember member;
  uint32_t rank = 0;
  if (m.parent != 0) {
    const CommHandle* held = find(*thread.process, m.parent);
    if (!held || held->state != CommState::ready || held->finalized || held->aborted) return Status::invalid_handle;
    CommMember& own = held->comm->members[held->rank];
    key = {held->comm.get(), own.grow_rounds};
    if (token != 0 && growths_by_token_.at(token) != key) return Status::invalid_value;
    if (m.ranks <= static_cast<int32_t>(held->comm->ranks()) || m.ranks > kMostRanks) return Status::invalid_value;
    growths_[key].parent = held->comm;
    member.local_device = own.local_device;
    rank = held->rank;
  } else {
    key = growths_by_token_.at(token);
    const auto before = static_cast<int32_t>(growths_.at(key).parent->ranks());
    if (m.rank < before || m.rank >= m.ranks || m.ranks > kMostRanks) return Status::invalid_value;
    member.local_device = m.device;
    rank = static_cast<uint32_t>(m.rank);
  }
  GrowRound& round = growths_.at(key);
  if (round.members.empty()) round.members.resize(static_cast<size_t>(m.ranks));
  if (round.members.size() != static_cast<size_t>(m.ranks) || round.members[rank].process) return Status::invalid_value;
  if (m.parent != 0) ++round.parent->members[rank].grow_rounds;
  member.process = thread.process;
  member.device = global_device(*thread.process, member.local_device);
  member.handle = handle;
  handle->rank = rank;
  round.members[rank] = std::move(member);
  round.latest = std::max(round.latest, thread.now);
  round.most_channels = std::max(round.most_channels, m.most_channels);
  if (!std::ranges::all_of(round.members, [](const CommMember& c) { return c.process != nullptr; })) return Status::ok;
  const Time at = round.latest + node_.platform.nccl.init;
  node_.engine.schedule(at, tie_of(*round.parent), [this, key, at] { finish_growing(key, at); });
  return Status::ok;
}

void Collectives::finish_growing(const GrowKey& key, Time at) {
  const auto found = growths_.find(key);
  if (found == growths_.end()) return;
  GrowRound round = std::move(found->second);
  growths_.erase(found);
  growths_by_token_.erase(round.token);
  auto comm = std::make_shared<Communicator>();
  comm->members = std::move(round.members);
  comm->most_channels = round.most_channels != 0 ? round.most_channels : round.parent->most_channels;
  for (const CommMember& m : comm->members) m.handle->comm = comm;
  add(comm);
  complete(comm, at);
}

// Suspending and resuming: all ranks do. What the model would free is none of the program's memory.
Status Collectives::rest(HostThread& thread, CommHandle& handle, bool suspend) {
  if (handle.state != CommState::ready || handle.finalized || handle.revoked) return Status::invalid_value;
  if (handle.suspended == suspend) return Status::illegal_state;
  handle.suspended = suspend;
  const auto comm = handle.comm;
  const uint64_t round = ++comm->members[handle.rank].suspend_rounds;
  ++handle.open_rounds;
  handle.since = std::max(handle.since, thread.now);
  if (!std::ranges::all_of(comm->members, [&](const CommMember& c) { return c.suspend_rounds >= round; }))
    return Status::ok;
  Time at = 0;
  for (const CommMember& c : comm->members) at = std::max(at, c.handle ? c.handle->since : 0);
  node_.engine.schedule(at, tie_of(*comm), [this, comm, at] {
    for (CommMember& c : comm->members) {
      if (!c.handle) continue;
      if (c.handle->open_rounds != 0) --c.handle->open_rounds;
      answer_waiting(*c.handle, at);
    }
  });
  return Status::ok;
}

// Windows

Status Collectives::set_window(HostThread& thread, const wire::CommWindow& m, Id& window) {
  Process& process = *thread.process;
  CommHandle* handle = find(process, m.comm);
  if (!handle || handle->state != CommState::ready || handle->aborted) return Status::invalid_handle;
  const auto comm = handle->comm;
  CommMember& member = comm->members[handle->rank];
  thread.spend(node_.platform.nccl.call);
  if (m.window != 0) {
    window = m.window;
    return member.windows.erase(m.window) != 0 ? Status::ok : Status::not_found;
  }
  if (m.bytes == 0 || member.windows.size() >= kMostComms) return Status::invalid_value;
  if (!node_.memory.find_bytes(process, m.address, m.bytes).host) return Status::invalid_value;
  CommWindowRange range{m.address, m.bytes, 0, m.collective == 0};
  if (m.collective != 0) {
    range.round = ++member.window_rounds;
    ++handle->open_rounds;
  }
  window = process.next_id++;
  member.windows[window] = range;
  if (m.collective == 0) return Status::ok;
  const uint64_t round = range.round;
  const bool all = std::ranges::all_of(comm->members, [&](const CommMember& c) { return c.window_rounds >= round; });
  handle->since = std::max(handle->since, thread.now);
  if (!all) return Status::ok;
  Time at = 0;
  for (const CommMember& c : comm->members) at = std::max(at, c.handle ? c.handle->since : 0);
  node_.engine.schedule(at, tie_of(*comm), [this, comm, round, at] {
    for (CommMember& c : comm->members) {
      if (!c.handle) continue;
      for (auto& [id, w] : c.windows) w.complete |= w.round == round;
      if (c.handle->open_rounds != 0) --c.handle->open_rounds;
      answer_waiting(*c.handle, at);
    }
  });
  return Status::ok;
}

// Ends

Status Collectives::end(HostThread& thread, const wire::CommEnd& m) {
  Process& process = *thread.process;
  const auto found = process.comms.find(m.comm);
  if (found == process.comms.end()) return Status::invalid_handle;
  const auto handle = found->second;
  const auto comm = handle->comm;
  thread.spend(node_.platform.nccl.call);
  switch (m.how) {
    case wire::CommChange::finalize:
      if (handle->finalized || handle->revoked) return Status::invalid_value;
      handle->finalized = true;
      return Status::ok;
    case wire::CommChange::revoke:
      if (handle->finalized || handle->revoked || !comm) return Status::invalid_value;
      handle->revoked = true;
      give_up(comm, handle->rank, "has revoked it", thread.now);
      return Status::ok;
    case wire::CommChange::abort:
      process.comms.erase(found);
      handle->aborted = true;
      // Another thread may be waiting for it.
      node_.engine.schedule(thread.now, thread.tie,
                            [this, handle, at = thread.now] { set_state(*handle, CommState::ended, Status::ok, at); });
      if (!comm) return Status::ok;
      give_up(comm, handle->rank, "has aborted it", thread.now);
      leave(*comm, handle->rank, "has aborted it");
      return Status::ok;
    case wire::CommChange::suspend:
    case wire::CommChange::resume:
      return rest(thread, *handle, m.how == wire::CommChange::suspend);
    case wire::CommChange::destroy: {
      process.comms.erase(found);
      if (!comm) return Status::ok;
      // What was issued is waited for, as NCCL does.
      CommMember& member = comm->members[handle->rank];
      std::vector<OperationPtr> work;
      for (const LaunchPtr& launch : member.queue) {
        if (const OperationPtr op = launch->op.lock()) work.push_back(op);
      }
      node_.threads.wait_for(thread, std::move(work), member.local_device,
                             [this, comm, rank = handle->rank](Answer& answer) {
                               leave(*comm, rank, "has destroyed it");
                               answer.status = Status::ok;
                             });
      return kLater;
    }
  }
  return Status::invalid_value;
}

// What the rank has under way ends at once, with whatever its buffers hold; what others wait for never comes.
void Collectives::give_up(const std::shared_ptr<Communicator>& comm, uint32_t rank, const std::string& why, Time at) {
  node_.engine.schedule(at, tie_of(*comm) + rank, [this, comm, rank, why, at] {
    CommMember& member = comm->members[rank];
    for (const LaunchPtr& launch : std::deque(member.queue)) {
      drop(launch, fmt::format("rank {} {}", rank, why));
      if (const OperationPtr op = launch->op.lock()) node_.streams.finish(op, std::max(at, op->begun));
      end_launch(launch);
    }
  });
}

// The handle and the communicator hold each other: a member that has left holds none.
void Collectives::leave(Communicator& comm, uint32_t rank, const std::string& why) {
  CommMember& member = comm.members[rank];
  member.gone = true;
  member.gone_why = why;
  member.handle = nullptr;
  member.windows.clear();
  member.waits.clear();
  if (comm.made || comm.token == 0) return;
  const bool empty = std::ranges::all_of(comm.members, [](const CommMember& m) { return !m.process || m.gone; });
  if (empty) joining_.erase(comm.token);
}

void Collectives::remove_process(Process& process) {
  prune();
  for (const auto& weak : all_) {
    const auto comm = weak.lock();
    if (!comm) continue;
    for (uint32_t r = 0; r < comm->ranks(); ++r) {
      CommMember& m = comm->members[r];
      if (m.process != &process || m.gone) continue;
      for (const LaunchPtr& launch : std::exchange(m.queue, {})) {
        drop(launch, fmt::format("rank {} has ended", r));
        end_launch(launch);
      }
      leave(*comm, r, "has ended");
    }
  }
}

void Collectives::prune() {
  std::erase_if(all_, [](const auto& weak) { return weak.expired(); });
  prune_at_ = std::max<size_t>(64, all_.size() * 2);
}

void Collectives::add(const std::shared_ptr<Communicator>& comm) {
  if (all_.size() >= prune_at_) prune();
  all_.push_back(comm);
}

void Collectives::clear() {
  joining_.clear();
  splits_.clear();
  shrinks_.clear();
  growths_.clear();
  growths_by_token_.clear();
  for (const auto& weak : all_) {
    const auto comm = weak.lock();
    if (!comm) continue;
    for (CommMember& m : comm->members) {
      m.handle = nullptr;
      m.queue.clear();
      m.waits.clear();
    }
    comm->collectives.clear();
    comm->messages.clear();
    comm->transfers.clear();
  }
}

}  // namespace fb::machine
