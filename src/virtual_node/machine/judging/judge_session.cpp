#include "virtual_node/machine/judging/judge_session.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/hash.h"
#include "virtual_node/machine/judging/memory_words.h"
#include "virtual_node/machine/process/stream_scheduler.h"

namespace fb::machine {
namespace {

using wire::Kind;
using wire::Status;
using wire::StepKind;

constexpr uint32_t kMostRunCalls = 1 << 12;
constexpr size_t kLongestText = 2048;

const char* name_of(StepKind kind) {
  switch (kind) {
    case StepKind::construct:
      return "construct";
    case StepKind::run:
      return "run";
    case StepKind::destroy:
      return "destroy";
    default:
      return "leave";
  }
}

// A rank's text, made safe to print.
std::string printable(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte b : bytes.first(std::min(bytes.size(), kLongestText))) {
    const auto c = static_cast<unsigned char>(b);
    if (c == '\n') {
      text += "\\n";
    } else if (c == '\t') {
      text += "\\t";
    } else if (c < 32 || c == 127) {
      text += fmt::format("\\x{:02x}", c);
    } else {
      text += static_cast<char>(c);
    }
  }
  return text;
}

template <class T>
void append(std::vector<std::byte>& blob, const T& figures) {
  const auto bytes = std::as_bytes(std::span(&figures, 1));
  blob.insert(blob.end(), bytes.begin(), bytes.end());
}

}  // namespace

JudgeSession::JudgeSession(ProcessServices& node, uint32_t ranks, uint64_t connection)
    : node_(node), judges_(std::make_unique<Process>()), judge_(std::make_shared<HostThread>()), ranks_(ranks) {
  judge_->connection = connection;
  judge_->process = judges_.get();
  judge_->purpose = wire::Purpose::judge;
  if (node_.checking) node_.checking->begin_steps();
}

JudgeSession::~JudgeSession() {
  if (arena_) munmap(arena_, arena_bytes_);
}

JudgeSession::Rank* JudgeSession::rank_of(const Process& process) {
  return process.rank >= 0 && static_cast<size_t>(process.rank) < ranks_.size()
             ? &ranks_[static_cast<size_t>(process.rank)]
             : nullptr;
}
const JudgeSession::Rank* JudgeSession::rank_of(const Process& process) const {
  return const_cast<JudgeSession*>(this)->rank_of(process);
}

bool JudgeSession::all_wait() const { return std::ranges::all_of(ranks_, &Rank::waits); }

bool JudgeSession::nothing_left() const {
  return node_.engine.runs().empty() && std::ranges::all_of(node_.processes, [](const auto& p) {
           return p->gone || (p->live == 0 && p->held.empty() && p->callbacks.empty() && !p->callback);
         });
}

Time JudgeSession::latest() const {
  Time t = node_.engine.now();
  for (const auto& thread : node_.threads.all()) {
    if (!thread->gone) t = std::max(t, thread->now);
  }
  return t;
}

// The judge

Status JudgeSession::begin(Call& call, const wire::JudgeBegin& m) {
  if (state_ != State::assembling || judge_waits_) return Status::illegal_state;
  if (m.arena_bytes != 0) {
    struct stat facts{};
    if (!call.descriptor || fstat(call.descriptor.get(), &facts) != 0 || facts.st_size < 0 ||
        static_cast<uint64_t>(facts.st_size) < m.arena_bytes)
      return Status::invalid_value;
    void* at = mmap(nullptr, m.arena_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, call.descriptor.get(), 0);
    if (at == MAP_FAILED) return Status::out_of_memory;
    arena_ = static_cast<std::byte*>(at);
    arena_bytes_ = m.arena_bytes;
  }
  judge_waits_ = true;
  return kLater;
}

Status JudgeSession::make_tensor(const wire::JudgeTensor& m, wire::Address& reply) {
  if (state_ != State::frozen) return Status::illegal_state;
  if (m.rank >= ranks_.size() || m.bytes == 0) return Status::invalid_value;
  Rank& rank = ranks_[m.rank];
  const uint32_t device = m.device < 0 ? rank.device : static_cast<uint32_t>(m.device);
  if (!node_.memory.valid_device(device)) return Status::invalid_value;
  Region region;
  region.bytes = m.bytes;
  region.kind = wire::MemoryKind::device;
  region.of_judge = true;
  region.allocation = node_.memory.take_memory(*rank.process, device, m.bytes,
                                               fmt::format("tensor {} of rank {}", rank.tensors, m.rank));
  if (!region.allocation) return Status::out_of_memory;
  region.allocation->fresh = false;  // a constructor may try its kernels on them
  const Region* added = node_.memory.add_region(*rank.process, std::move(region));
  if (!added) return Status::out_of_memory;
  ++rank.tensors;
  reply = {added->begin, added->bytes};
  return Status::ok;
}

Status JudgeSession::free_tensor(const wire::JudgeFree& m) {
  if (state_ != State::frozen) return Status::illegal_state;
  if (m.rank >= ranks_.size()) return Status::invalid_value;
  Process& process = *ranks_[m.rank].process;
  const auto found = process.regions.find(m.address);
  if (found == process.regions.end() || !found->second.of_judge) return Status::invalid_value;
  node_.memory.release_region(process, m.address);
  --ranks_[m.rank].tensors;
  return Status::ok;
}

Status JudgeSession::step(Call& call, const wire::JudgeStep& m) {
  if (state_ != State::frozen) return Status::illegal_state;
  if (m.ranks != ranks_.size() || m.kind == StepKind::none || m.kind > StepKind::leave) return Status::invalid_value;
  if (m.calls == 0 || m.calls > (m.kind == StepKind::run ? kMostRunCalls : 1)) return Status::invalid_value;
  if (m.kind == StepKind::construct && call.blob.size() % (ranks_.size() * sizeof(uint64_t)) != 0)
    return Status::invalid_value;
  if (m.order.schedule > wire::StepSchedule::drawn) return Status::invalid_value;
  for (Rank& rank : ranks_) rank.calls = std::make_shared<std::vector<Calling>>(m.calls);
  if (m.kind == StepKind::run) {
    if (const Status s = read_transfers(call.blob, m.calls); s != Status::ok) return s;
  }
  begin_step(m, m.kind == StepKind::construct ? call.blob : std::span<const std::byte>{});
  return kLater;
}

Status JudgeSession::read_transfers(std::span<const std::byte> blob, uint32_t calls) {
  step_bytes_ = 0;
  if (blob.size() % sizeof(wire::Transfer) != 0) return Status::invalid_value;
  for (; !blob.empty(); blob = blob.subspan(sizeof(wire::Transfer))) {
    wire::Transfer t;
    std::memcpy(&t, blob.data(), sizeof t);
    if (t.rank >= ranks_.size() || t.call >= calls || t.direction > wire::Direction::store)
      return Status::invalid_value;
    if (t.arena_offset > arena_bytes_ || t.bytes > arena_bytes_ - t.arena_offset) return Status::invalid_value;
    if (t.bytes == 0) continue;
    Rank& rank = ranks_[t.rank];
    const Bytes found = node_.memory.find_bytes(*rank.process, t.address, t.bytes);
    if (!found.host) return Status::invalid_value;
    Calling& calling = (*rank.calls)[t.call];
    step_bytes_ += t.bytes;
    const bool load = t.direction == wire::Direction::load;
    (load ? calling.loads : calling.stores)
        .push_back({found.allocation, found.host, arena_ + t.arena_offset, t.bytes, load});
  }
  return Status::ok;
}

void JudgeSession::perform(const std::vector<Move>& moves, uint32_t checked) {
  for (const Move& move : moves) {
    if (node_.checking && checked != 0) {
      node_.checking->detector().access(checked, move.load ? simt::AccessKind::store : simt::AccessKind::load,
                                        *move.holder, static_cast<uint64_t>(move.tensor - move.holder->bytes.get()),
                                        move.bytes);
    }
    if (move.load) {
      std::memcpy(move.tensor, move.arena, move.bytes);
      node_.engine.watch().written(move.tensor, move.bytes);
    } else {
      std::memcpy(move.arena, move.tensor, move.bytes);
    }
  }
}

// Between steps nothing runs, and all hosts know that everything has ended. The inputs of a call belong to its rank:
// other ranks may read them only after they have synchronised with that rank, in the first call as well.
void JudgeSession::perform_while_frozen() {
  if (!node_.checking) {
    for (Rank& rank : ranks_) perform(rank.calls->front().loads, 0);
    return;
  }
  Checking& checking = *node_.checking;
  const std::vector<uint32_t> processes = numbers();
  checking.hosts_acquire_all(processes);
  checking.synchronise_hosts(processes);
  for (Rank& rank : ranks_) {
    const uint32_t op = checking.begin_judge_access(rank.process->number, rank.process->rank,
                                                    global_device(*rank.process, rank.device));
    perform(rank.calls->front().loads, op);
    checking.end_judge_access(rank.process->number, op);
  }
}

std::vector<uint32_t> JudgeSession::numbers() const {
  std::vector<uint32_t> numbers;
  for (const Rank& rank : ranks_) {
    if (rank.process) numbers.push_back(rank.process->number);
  }
  return numbers;
}

void JudgeSession::begin_step(const wire::JudgeStep& m, std::span<const std::byte> words) {
  step_ = m;
  ++steps_;
  if (node_.checking) node_.checking->detector().old_reads().forget();
  state_ = m.kind == StepKind::leave ? State::left : State::step;
  judge_waits_ = true;
  const Time begin = begin_of(m.order);
  done_ = {};
  done_.begin = begin;
  done_.devices = node_.platform.devices();
  before_.clear();
  for (uint32_t d = 0; d < done_.devices; ++d) before_.push_back(node_.fabric.counters(d));
  carried_before_.clear();
  for (uint32_t card = 0; card < node_.network.cards(); ++card) carried_before_.push_back(node_.network.carried(card));
  node_.log.add("begin of step", {static_cast<uint64_t>(m.kind), m.calls, m.first_call, begin});
  for (const auto& thread : node_.threads.all()) {
    if (!thread->gone) thread->now = begin;
  }
  set_order(m.order);
  if (m.order.wants_shares != 0) {
    node_.fabric.shares().begin(begin);
  } else {
    node_.fabric.shares().stop();
  }
  perform_while_frozen();
  const size_t each = words.size() / ranks_.size();
  for (size_t r = 0; r < ranks_.size(); ++r) {
    ranks_[r].call = 0;
    if (m.kind == StepKind::run) {
      begin_call(ranks_[r]);
    } else {
      tell(ranks_[r], words.subspan(r * each, each));
    }
  }
  if (m.kind != StepKind::leave) return;
  judge_waits_ = false;
  Answer answer;
  done_.drained = begin;
  answer.set_body(done_);
  node_.threads.answer(*judge_, std::move(answer));
}

// The rank's next call begins on its host.
void JudgeSession::tell(Rank& rank, std::span<const std::byte> words) {
  rank.waits = false;
  if (step_.kind == StepKind::run) ++rank.process->call;
  (*rank.calls)[rank.call].times.begun = rank.thread->now;
  Answer answer;
  answer.set_body(wire::StepReady{step_.kind, step_.first_call + rank.call});
  answer.blob.assign(words.begin(), words.end());
  node_.threads.answer_at(*rank.thread, rank.thread->now, std::move(answer));
}

// Steps begin where the bandwidth calendars of the fabric are empty and at the same position in their intervals. So a
// time does not depend on what came before, and the clock does not tell what comes next.
Time JudgeSession::begin_of(const wire::StepOrder& order) const {
  constexpr Time kRaster = Time{1} << 28;  // 268 us
  const Time now = latest();
  return order.schedule == wire::StepSchedule::of_run ? now : (now + kRaster - 1) / kRaster * kRaster;
}

void JudgeSession::set_order(const wire::StepOrder& order) {
  seed_ = order.schedule == wire::StepSchedule::of_run ? node_.options.seed : order.seed;
  if (order.schedule == wire::StepSchedule::of_run) return;
  node_.engine.set_schedule(
      order.schedule == wire::StepSchedule::by_time ? ScheduleKind::by_time : ScheduleKind::random, seed_);
  if (node_.checking) node_.checking->detector().deliver_late(seed_ != 0);
}

// Where anything is drawn, half of all calls begin only when the other ranks can't make progress without them. That
// reveals ranks that should wait for another one and do not.
void JudgeSession::begin_call(Rank& rank) {
  const auto number = static_cast<uint64_t>(&rank - ranks_.data());
  rank.kept_back = seed_ != 0 && (mix(seed_, {number, step_.first_call + rank.call}) & 1) != 0;
  if (rank.kept_back) {
    rank.waits = false;
  } else {
    tell(rank, {});
  }
}

bool JudgeSession::let_straggler_go() {
  Rank* next = nullptr;
  uint64_t best = 0;
  for (Rank& rank : ranks_) {
    if (!rank.kept_back) continue;
    const auto number = static_cast<uint64_t>(&rank - ranks_.data());
    const uint64_t draw = mix(seed_, {rank.call, number, 1});
    if (next == nullptr || draw < best) {
      next = &rank;
      best = draw;
    }
  }
  if (next == nullptr) return false;
  next->kept_back = false;
  next->thread->now = std::max(next->thread->now, latest());
  node_.log.add("straggler", {static_cast<uint64_t>(next - ranks_.data()), next->call});
  tell(*next, {});
  return true;
}

bool JudgeSession::end_step() {
  if (!judge_waits_ || (state_ != State::assembling && state_ != State::step) || !all_wait() || !nothing_left())
    return false;
  const bool assembled = state_ == State::assembling;
  state_ = State::frozen;
  judge_waits_ = false;
  Answer answer;
  if (assembled) {
    answer.set_body(wire::Empty{});
  } else {
    done_.drained = latest();
    done_.shares = shares_of(done_.drained);
    done_.faults = static_cast<uint32_t>(std::min<uint64_t>(node_.log.faults(), UINT32_MAX));
    done_.late_requests = static_cast<uint32_t>(std::min<uint64_t>(late_requests_, UINT32_MAX));
    node_.log.add("end of step", {done_.drained, done_.faults});
    const std::vector<uint32_t> words = find_words(node_);
    done_.words = static_cast<uint32_t>(words.size());
    answer.set_body(done_);
    for (Rank& rank : ranks_) {
      for (const Calling& calling : *rank.calls) append(answer.blob, calling.times);
      rank.calls.reset();
    }
    for (const wire::DeviceTraffic& one : traffic()) append(answer.blob, one);
    for (const uint32_t word : words) append(answer.blob, word);
  }
  node_.threads.answer(*judge_, std::move(answer));
  return true;
}

std::vector<wire::DeviceTraffic> JudgeSession::traffic() const {
  std::vector<wire::DeviceTraffic> moved;
  for (uint32_t d = 0; d < before_.size(); ++d) {
    const auto since = [&](fabric::Traffic kind) {
      return node_.fabric.counters(d)[static_cast<size_t>(kind)] - before_[d][static_cast<size_t>(kind)];
    };
    using enum fabric::Traffic;
    moved.push_back({.peer_out = since(peer_out),
                     .peer_in = since(peer_in),
                     .memory = since(memory),
                     .to_host = since(to_host),
                     .from_host = since(from_host)});
  }
  // Several cards of one device: the busiest of them.
  for (uint32_t card = 0; card < carried_before_.size(); ++card) {
    const auto now = node_.network.carried(card);
    wire::DeviceTraffic& device = moved[card % moved.size()];
    device.network_out = std::max(device.network_out, now.out - carried_before_[card].out);
    device.network_in = std::max(device.network_in, now.in - carried_before_[card].in);
  }
  return moved;
}

void JudgeSession::note_late() {
  ++late_requests_;
  node_.log.mark_not_replayable("a rank sent requests between steps: when they came depends on real time");
}

// Ranks

Status JudgeSession::next(Call& call, const wire::StepNext& m) {
  HostThread& thread = *call.thread;
  Process& process = *thread.process;
  Rank* rank = rank_of(process);
  if (!rank || thread.purpose != wire::Purpose::calls) return Status::not_permitted;
  if (rank->waits || (rank->thread && rank->thread.get() != &thread)) return Status::not_permitted;
  if (node_.checking) node_.checking->end_step(process.number, m.failed != 0);
  if (m.failed != 0) {
    using record::IncidentReason;
    const bool no_memory = m.failed == wire::StepNext::kThrewBadAlloc;
    node_.report(make_incident(
        no_memory ? IncidentReason::rank_threw_bad_alloc : IncidentReason::rank_threw, process.rank,
        fmt::format("{} {}: {}", phase_of(*rank), state_ == State::step ? "threw" : "failed", printable(call.blob))));
    return kLater;
  }
  Stream* stream = node_.streams.find_stream(process, {m.stream, m.device, 0});
  if (!stream) return Status::invalid_handle;
  if (!rank->thread) {
    rank->process = &process;
    rank->thread = thread.shared_from_this();
    rank->device = m.device;
    rank->waits = true;
    return kLater;
  }
  if (state_ != State::step) return Status::not_permitted;
  wire::CallTimes& times = (*rank->calls)[rank->call].times;
  times.returned = thread.now;
  if (times.returned > times.drained) times.shares = shares_of(times.returned);
  if (step_.kind == StepKind::run) return end_of_call(*rank, thread, *stream, m.stream);
  rank->waits = true;
  return kLater;
}

wire::GroupShares JudgeSession::shares_of(Time at) const {
  static_assert(std::tuple_size_v<wire::GroupShares> == platform::kGroups.size());
  const fabric::ShareLedger& ledger = node_.fabric.shares();
  return ledger.is_active() ? ledger.find(at) : wire::GroupShares{};
}

void JudgeSession::note_drained(wire::CallTimes& times, Time at) const {
  if (at <= times.drained) return;
  times.drained = at;
  if (at > times.returned) times.shares = shares_of(at);
}

// The host continues. When the stream gets here, results are stored and the next call's inputs loaded.
Status JudgeSession::end_of_call(Rank& rank, HostThread& thread, Stream& stream, uint64_t stream_id) {
  const uint32_t c = rank.call;
  const OperationPtr op =
      node_.streams.make_operation(*thread.process, stream.device, fmt::format("end of call {}", step_.first_call + c));
  op->of_judge = true;
  op->work = [this, c, calls = rank.calls](const OperationPtr& self) {
    perform((*calls)[c].stores, self->checked);
    if (c + 1 < calls->size()) perform((*calls)[c + 1].loads, self->checked);
    node_.streams.finish(self, self->begun);
  };
  op->on_end.push_back([this, c, calls = rank.calls, raw = op.get()] {
    wire::CallTimes& times = (*calls)[c].times;
    times.ended = raw->ended;
    note_drained(times, raw->ended);
  });
  // Work of the call that its stream does not wait for belongs to its time, too.
  for (const auto& [device, context] : thread.process->contexts) {
    for (const OperationPtr& last : StreamScheduler::operations_of_device(*thread.process, device)) {
      if (!last || last->has_ended) continue;
      last->on_end.push_back([this, c, calls = rank.calls, raw = last.get()] {
        wire::CallTimes& times = (*calls)[c].times;
        note_drained(times, raw->ended);
      });
    }
  }
  node_.streams.enqueue(thread, stream, stream_id, op);
  rank.waits = c + 1 == rank.calls->size();
  if (rank.waits) return kLater;
  ++rank.call;
  begin_call(rank);
  return kLater;
}

Status JudgeSession::exchange(Call& call) {
  Rank* rank = rank_of(*call.thread->process);
  if (!rank || !step_is_under_way() || in_run() || rank->exchanging) return Status::not_permitted;
  if (call.blob.size() * ranks_.size() > wire::kLargestBlob) return Status::invalid_value;
  rank->brought.assign(call.blob.begin(), call.blob.end());
  return join_exchange(*rank, call, Kind::exchange);
}

Status JudgeSession::exchange_descriptor(Call& call, uint32_t root) {
  Rank* rank = rank_of(*call.thread->process);
  if (!rank || !step_is_under_way() || in_run() || rank->exchanging) return Status::not_permitted;
  if (root >= ranks_.size()) return Status::invalid_value;
  rank->root = root;
  rank->brought_descriptor = static_cast<bool>(call.descriptor);
  rank->physical = call.descriptor ? node_.exports.find(call.descriptor.get()) : nullptr;
  return join_exchange(*rank, call, Kind::exchange_descriptor);
}

Status JudgeSession::join_exchange(Rank& rank, Call& call, Kind kind) {
  rank.exchanging = call.thread->shared_from_this();
  rank.exchange = kind;
  if (std::ranges::all_of(ranks_, [](const Rank& r) { return r.exchanging != nullptr; })) complete_exchange();
  return kLater;
}

// All ranks have arrived: each gets the data of all, or all get an error because their arguments differ.
void JudgeSession::complete_exchange() {
  const Rank& first = ranks_.front();
  Time at = 0;
  bool agree = true;
  std::vector<std::byte> all;
  for (size_t r = 0; r < ranks_.size(); ++r) {
    const Rank& rank = ranks_[r];
    at = std::max(at, rank.exchanging->now);
    agree &= rank.exchange == first.exchange;
    if (first.exchange == Kind::exchange) {
      agree &= rank.brought.size() == first.brought.size();
      all.insert(all.end(), rank.brought.begin(), rank.brought.end());
    } else {
      agree &= rank.root == first.root && rank.brought_descriptor == (r == rank.root);
    }
  }
  const auto physical = first.exchange == Kind::exchange_descriptor ? ranks_[first.root].physical : nullptr;
  agree &= first.exchange == Kind::exchange || physical;
  const bool share = first.exchange == Kind::exchange_descriptor;
  if (node_.checking) node_.checking->synchronise_hosts(numbers());
  for (Rank& rank : ranks_) {
    Answer answer;
    answer.status = agree ? Status::ok : Status::invalid_value;
    answer.set_body(wire::Empty{});
    if (agree && share) {
      answer.owned = node_.exports.write(physical);
      if (!answer.owned) answer.status = Status::out_of_memory;
    } else if (agree) {
      answer.blob = all;
    }
    const auto thread = std::exchange(rank.exchanging, nullptr);
    rank.brought = {};
    rank.physical = nullptr;
    node_.threads.answer_at(*thread,
                            node_.fabric.shares().later(at, node_.platform.calls.wake, platform::Group::launch),
                            std::move(answer));
  }
}

// Texts for reports

std::string JudgeSession::phase_of(const Rank& rank) const {
  if (state_ == State::assembling) return "load";
  if (step_.kind == StepKind::run) return fmt::format("run, call {}", step_.first_call + rank.call);
  return name_of(step_.kind);
}

std::string JudgeSession::where(const Process& process) const {
  const Rank* rank = rank_of(process);
  if (!rank || state_ == State::left || state_ == State::frozen) return "between steps";
  return fmt::format("{} {}", rank->waits ? "after" : "in", phase_of(*rank));
}

std::optional<std::string> JudgeSession::explain_loss(const Process& process) const {
  const Rank* rank = rank_of(process);
  if (!rank || state_ == State::left) return std::nullopt;
  if (state_ == State::assembling) return fmt::format("rank {} ended before its first step", process.rank);
  if (state_ == State::frozen) return fmt::format("rank {} ended between steps", process.rank);
  return fmt::format("rank {} ended {} {}", process.rank, rank->waits ? "after" : "during", phase_of(*rank));
}

bool JudgeSession::needs(const HostThread& thread) const {
  const Rank* rank = rank_of(*thread.process);
  return rank && (rank->thread.get() == &thread || rank->exchanging.get() == &thread);
}

bool JudgeSession::has_returned(const Process& process) const {
  const Rank* rank = rank_of(process);
  return rank && state_ == State::step && rank->waits;
}

std::optional<std::string> JudgeSession::explain_wait(const HostThread& thread) const {
  const Rank* rank = rank_of(*thread.process);
  if (!rank || state_ != State::step) return std::nullopt;
  const int32_t number = thread.process->rank;
  if (rank->waits && rank->thread.get() == &thread) {
    return step_.kind == StepKind::run
               ? fmt::format("rank {} has returned from call {} of run", number, step_.first_call + rank->call)
               : fmt::format("rank {} has returned from {}", number, name_of(step_.kind));
  }
  if (rank->exchanging.get() != &thread) return std::nullopt;
  std::string missing;
  size_t count = 0;
  for (size_t r = 0; r < ranks_.size(); ++r) {
    if (ranks_[r].exchanging) continue;
    missing += fmt::format("{}{}", missing.empty() ? "" : ", ", r);
    ++count;
  }
  return fmt::format("rank {} waits in {} for {} {}", number,
                     rank->exchange == Kind::exchange ? "all_gather" : "share_descriptor",
                     count == 1 ? "rank" : "ranks", missing);
}

}  // namespace fb::machine
