#include "machine/node/node.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include "base/hash.h"
#include "machine/judging/judgement.h"
#include "machine/node/handlers.h"

namespace fb::machine {
namespace {

using wire::Kind;
using wire::Status;

constexpr Time kTraceInterval = 1'000'000;

DeviceLimits limits_of(const fabric::Platform& p) {
  DeviceLimits l;
  l.sms = p.device.sms;
  l.threads_per_sm = p.device.threads_per_sm;
  l.blocks_per_sm = p.device.blocks_per_sm;
  l.registers_per_sm = p.device.registers_per_sm;
  l.shared_per_sm = static_cast<uint32_t>(p.device.shared_per_sm);
  l.shared_per_block = static_cast<uint32_t>(p.device.shared_per_block);
  l.shared_reserved_per_block = static_cast<uint32_t>(p.device.shared_reserved_per_block);
  l.threads_per_block = p.device.threads_per_block;
  l.blocks_per_cluster = p.device.blocks_per_cluster;
  l.memory = p.memory.size;
  l.heap = p.device.heap;
  return l;
}

EngineOptions engine_options(const NodeOptions& options, const TimeKeeper& keeper) {
  EngineOptions o;
  o.schedule = options.choices     ? ScheduleKind::chosen
               : options.untimed   ? ScheduleKind::first_come
               : options.seed == 0 ? ScheduleKind::by_time
                                   : ScheduleKind::random;
  o.seed = options.seed;
  o.choices = options.choices.value_or(std::vector<uint32_t>());
  o.budget = options.budget;
  if (!options.untimed) o.time_keeper = &keeper;
  return o;
}

uint64_t half_of_host_memory() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE)) / 2;
}

}  // namespace

Node::Node(const fabric::Platform& platform, const NodeOptions& options, Reply reply, Report report)
    : platform_(platform),
      options_(options),
      reply_(std::move(reply)),
      report_(std::move(report)),
      memory_used_(platform.devices()),
      memory_peak_(platform.devices()),
      memory_most_(options.memory != 0 ? options.memory : half_of_host_memory()),
      fabric_(platform),
      clock_(fabric_),
      engine_(engine_options(options, clock_)),
      operations_(engine_),
      devices_per_node_(platform.node.devices),
      limits_(limits_of(platform)),
      waiting_kernels_(platform.devices()),
      counters_(platform.devices()) {
  clock_.keep_history(&writes_);
  for (uint32_t d = 0; d < platform.devices(); ++d) {
    engine_.add_gpu(limits_, platform.cycle(), platform.device.issue, platform.device.schedulers_per_sm);
  }
  if (!options.untimed) clock_.count_steps(engine_.sync_steps());
  if (options.check) {
    race::Options o;
    o.seed = options.seed;
    o.strict = options.strict;
    o.weak_lines = options.weak_lines;
    o.why = options.why;
    checking_ = std::make_unique<Checking>(o, options.keep_going, clock_, report_);
    operations_.on_begun = [this](Operation& op) { checking_->begun(op); };
    operations_.on_ended = [this](Operation& op) { checking_->ended(op); };
  }
  if (!options.events.empty()) events_ = std::fopen(options.events.c_str(), "w");
  operations_.on_finished = [this](const Operation& op) {
    if (op.counted) {
      --op.process->live;
      op.process->payload -= op.payload;
      go_on_with_held(*op.process);
    }
    note_finished(op);
  };
  if (!options.trace) return;
  trace_.emplace();
  traffic_ = &fabric_.log_traffic(kTraceInterval);
  for (uint32_t d = 0; d < platform.devices(); ++d) trace_->name_process(d, fmt::format("device {}", d));
}

Node::~Node() {
  for (const auto& process : processes_) {
    for (const auto& [device, context] : process->contexts) engine_.abandon(*context);
  }
  value_waits_.clear();
  // Who waits and what is waited for hold each other.
  for (const auto& thread : threads_) thread->waits_for.clear();
  // Operations hold those that come after them: let go of one at a time, or a long chain of them uses up the stack.
  for (const auto& process : processes_) {
    for (const OperationPtr& op : process->pending) op->after.clear();
  }
  if (events_) std::fclose(events_);
}

// --- Processes and threads
// --------------------------------------------------------------------------------------------

Process& Node::add_process(int32_t pid, int32_t rank, int32_t node) {
  auto process = std::make_unique<Process>();
  // A rank's number is the rank, unless the launcher gave it twice (a program that forks).
  constexpr uint32_t kMostRanks = 1024;
  const bool taken = std::ranges::any_of(processes_, [&](const auto& p) { return p->rank == rank; });
  process->number = rank >= 0 && static_cast<uint32_t>(rank) < kMostRanks && !taken
                        ? static_cast<uint32_t>(rank)
                        : kMostRanks + static_cast<uint32_t>(processes_.size());
  process->pid = pid;
  process->next_allocation = process->number * kAllocationsEach + 1;
  process->rank = rank;
  const uint32_t nodes = platform_.node.nodes;
  process->first_device = (node < 0 ? 0 : static_cast<uint32_t>(node) % nodes) * devices_per_node_;
  return *processes_.emplace_back(std::move(process));
}

HostThread& Node::add_thread(Process& process, uint64_t connection, uint32_t id, wire::Purpose purpose) {
  // Those who have gone stay until nothing will answer them any more.
  std::erase_if(threads_, [this](const auto& t) {
    if (!t->gone || t.use_count() != 1) return false;
    calls_of_gone_ += mix(t->calls, static_cast<uint64_t>(t->process->rank));
    return true;
  });
  auto thread = std::make_shared<HostThread>();
  thread->connection = connection;
  thread->id = id;
  thread->process = &process;
  thread->purpose = purpose;
  thread->now = engine_.now();
  thread->tie = tie_of(process, process.next_thread++);
  return *threads_.emplace_back(std::move(thread));
}

// Processes that have gone stay in the list, empty: operations may still name them.
void Node::remove_thread(HostThread& thread) {
  thread.gone = true;
  thread.waiting = false;
  thread.waits_for.clear();
  if (thread.process->callback_thread == &thread) thread.process->callback_thread = nullptr;
}

void Node::remove_process(Process& process) {
  process.gone = true;
  process.held.clear();
  for (auto& [device, context] : process.contexts) {
    if (context->sticky_error == Status::ok) context->sticky_error = Status::unknown;
    engine_.abandon(*context);
  }
  // Others may wait for its events.
  for (const OperationPtr& w : std::exchange(process.pending, {}))
    operations_.finish(w, engine_.now(), Status::unknown);
  for (uint32_t d = 0; d < devices_per_node_; ++d) begin_waiting_kernels(global_device(process, d));
  std::erase_if(tokens_, [&](const auto& t) { return t.second.owner == &process; });
  for (const auto& [device, context] : process.contexts) {
    for (const auto& [id, module] : context->modules) forget_code(*module.loaded);
  }
  process.contexts.clear();
  process.all.clear();
  process.regions.clear();
  process.imported.clear();
  process.reserved.clear();
  process.mappings.clear();
  process.peers.clear();
  process.physical.clear();
  process.physical_references.clear();
  process.modules.clear();
  process.functions.clear();
  process.function_ids.clear();
  process.streams.clear();
  process.default_streams.clear();
  process.orphans.clear();
  process.events.clear();
  process.graphs.clear();
  process.callbacks.clear();
  process.callback = nullptr;
  process.callback_thread = nullptr;
  process.output = {};
}

Judgement& Node::add_judge(uint32_t ranks, uint64_t connection) {
  judgement_ = std::make_unique<Judgement>(*this, ranks, connection);
  return *judgement_;
}

std::string name_of(const Process& process) {
  return process.rank >= 0 ? fmt::format("rank {}", process.rank) : fmt::format("process {}", process.number);
}

Answer Node::welcome(const Process& process) const {
  Answer answer;
  wire::Welcome w;
  w.process = process.number;
  w.devices = devices_per_node_;
  w.addresses_begin = mem::kConstantBegin;
  w.addresses_end = mem::kGlobalEnd;
  answer.body.resize(sizeof w);
  std::memcpy(answer.body.data(), &w, sizeof w);
  for (uint32_t d = 0; d < devices_per_node_; ++d) {
    wire::DeviceFacts f;
    platform_.device_name.copy(f.name, sizeof f.name - 1);
    const uint32_t number = global_device(process, d);
    uint64_t id[2] = {mix(0x4642, number), mix(0x4652, number)};
    std::memcpy(f.uuid, id, sizeof f.uuid);
    f.pci_bus = 0x10 + number % 0xE0;
    f.pci_domain = number / 0xE0;
    f.capability_major = platform_.device.capability_major;
    f.capability_minor = platform_.device.capability_minor;
    f.memory_bytes = limits_.memory;
    f.multiprocessors = limits_.sms;
    f.threads_per_multiprocessor = limits_.threads_per_sm;
    f.blocks_per_multiprocessor = limits_.blocks_per_sm;
    f.registers_per_multiprocessor = limits_.registers_per_sm;
    f.shared_per_multiprocessor = limits_.shared_per_sm;
    f.shared_per_block_optin = limits_.shared_per_block;
    f.shared_reserved_per_block = limits_.shared_reserved_per_block;
    f.threads_per_block = limits_.threads_per_block;
    f.blocks_per_cluster = limits_.blocks_per_cluster;
    f.clock_khz = static_cast<uint32_t>(platform_.device.clock / 1000);
    f.memory_clock_khz = static_cast<uint32_t>(platform_.memory.clock / 1000);
    f.memory_bus_bits = platform_.memory.bus_bits;
    f.l2_bytes = platform_.memory.l2_size;
    f.copy_engines = platform_.device.copy_engines;
    f.multicast = platform_.multicast.supported ? 1 : 0;
    for (uint32_t peer = 0; peer < devices_per_node_; ++peer) {
      if (peer == d || !platform_.peer.access) continue;
      f.peers[peer / 64] |= uint64_t{1} << peer % 64;
      if (platform_.peer.atomics) f.peer_atomics[peer / 64] |= uint64_t{1} << peer % 64;
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(&f);
    answer.blob.insert(answer.blob.end(), bytes, bytes + sizeof f);
  }
  return answer;
}

// --- Requests
// ---------------------------------------------------------------------------------------------------------

namespace {

// So many operations of a process can wait. Who has more for a device is answered when there is room again.
constexpr uint64_t kMostQueued = 1 << 16;
constexpr uint64_t kMostPayload = 64 << 20;

bool adds_work(Kind kind) {
  return kind == Kind::launch || kind == Kind::copy || kind == Kind::memset || kind == Kind::event_record ||
         kind == Kind::event_depend || kind == Kind::stream_wait_value || kind == Kind::stream_write_value ||
         kind == Kind::callback || kind == Kind::free_ordered || kind == Kind::graph_launch;
}

bool is_of_judge(Kind kind) {
  return kind == Kind::judge_begin || kind == Kind::judge_tensor || kind == Kind::judge_free ||
         kind == Kind::judge_step;
}

bool is_full(const Process& process) { return process.live >= kMostQueued || process.payload >= kMostPayload; }

template <class Request, class Reply>
Answer dispatch(Node& node, Call& call, Status (*handler)(Node&, Call&, const Request&, Reply&, Answer&)) {
  Answer answer;
  if (call.body.size() != sizeof(Request)) {
    answer.status = Status::invalid_value;
    return answer;
  }
  Request request;
  std::memcpy(&request, call.body.data(), sizeof request);
  Reply reply{};
  answer.status = handler(node, call, request, reply, answer);
  if (answer.status != kLater) {
    answer.body.resize(sizeof reply);
    if (answer.status == Status::ok) std::memcpy(answer.body.data(), &reply, sizeof reply);
  }
  return answer;
}

}  // namespace

void Node::handle(Call& call) {
  HostThread& thread = *call.thread;
  thread.waiting = true;
  thread.request = call.kind;
  thread.now = std::max(thread.now, engine_.now());
  if (!is_permitted(thread, call.kind)) {
    Answer refusal;
    refusal.status = Status::not_permitted;
    log_call(thread, refusal.status);
    return answer(thread, std::move(refusal));
  }
  if (adds_work(call.kind) && is_full(*thread.process)) return hold(call);
  count_in_run(call.kind);
  if (call.kind != Kind::stream_query && call.kind != Kind::event_query) thread.polls = 0;
  Answer answer;
  try {
    switch (call.kind) {
#define MESSAGE(kind, Request, Reply)                                                 \
  case Kind::kind:                                                                    \
    answer = dispatch<wire::Request, wire::Reply>(*this, call, &Handlers::on_##kind); \
    break;
#include "wire/messages.def"
#undef MESSAGE
      default:
        answer.status = Status::invalid_value;
    }
  } catch (const std::bad_alloc&) {
    answer = {};
    answer.status = Status::out_of_memory;
  } catch (const std::length_error&) {
    answer = {};
    answer.status = Status::out_of_memory;
  }
  if (answer.status == kLater) return;
  log_call(thread, answer.status);
  this->answer(thread, std::move(answer));
}

bool Node::is_permitted(const HostThread& thread, Kind kind) const {
  return is_of_judge(kind) == (thread.purpose == wire::Purpose::judge);
}

void Node::count_in_run(Kind kind) {
  // These belong to the harness and to the library, not to the program.
  if (!judgement_ || !judgement_->in_run() || kind == Kind::none || kind == Kind::step_next ||
      kind == Kind::callback_next || is_of_judge(kind))
    return;
  ++calls_in_run_[wire::name_of(kind)];
}

void Node::hold(Call& call) {
  call.thread->process->held.push_back({call.thread->shared_from_this(),
                                        call.kind,
                                        {call.body.begin(), call.body.end()},
                                        {call.blob.begin(), call.blob.end()}});
}

// Called when an operation has ended: others may be just about to.
void Node::go_on_with_held(Process& process) {
  if (process.held.empty() || process.live > kMostQueued / 2 || process.payload > kMostPayload / 2) return;
  for (HeldCall& held : std::exchange(process.held, {})) {
    const Time at = std::max(held.thread->now, engine_.now());
    const uint64_t tie = held.thread->tie;
    engine_.schedule(at, tie, [this, held = std::move(held)] {
      if (held.thread->gone) return;
      Call call;
      call.thread = held.thread.get();
      call.kind = held.kind;
      call.body = held.body;
      call.blob = held.blob;
      handle(call);
    });
  }
}

Status Handlers::on_hello(Node&, Call&, const wire::Hello&, wire::Welcome&, Answer&) { return Status::not_permitted; }

Status Handlers::on_report_unsupported(Node& node, Call& call, const wire::ReportUnsupported&, wire::Empty&, Answer&) {
  constexpr size_t kLongestName = 100, kMostNames = 1000;
  const std::string name(reinterpret_cast<const char*>(call.blob.data()), std::min(call.blob.size(), kLongestName));
  if (node.unsupported_.size() < kMostNames || node.unsupported_.contains(name)) ++node.unsupported_[name];
  return Status::ok;
}

void Node::answer(HostThread& thread, Answer&& answer) {
  thread.waits_for.clear();
  if (thread.gone) return;
  thread.waiting = false;
  ++answers_;
  reply_(thread, std::move(answer));
}

void Node::answer_at(HostThread& thread, Time at, Answer&& answer) {
  thread.now = std::max(thread.now, at);
  log_call(thread, answer.status);
  this->answer(thread, std::move(answer));
}

Status Node::sticky_error(const Process& process, uint32_t device) const {
  const auto found = process.contexts.find(device);
  return found == process.contexts.end() ? Status::ok : found->second->sticky_error;
}

// The thread is answered when all of `works` have ended.
void Node::wait_for(HostThread& thread, std::vector<OperationPtr> operations, uint32_t device,
                    std::function<void(Answer&)> finish) {
  std::erase(operations, nullptr);
  struct Awaited {
    size_t left = 0;
    Time latest = 0;
    std::function<void(Time)> done;
  };
  auto wait = std::make_shared<Awaited>();
  for (const OperationPtr& w : operations) {
    if (w->has_ended) {
      wait->latest = std::max(wait->latest, w->ended);
      if (checking_) checking_->host_saw(thread.process->number, *w);
    } else {
      ++wait->left;
    }
  }
  wait->done = [this, self = thread.shared_from_this(), device, finish = std::move(finish)](Time latest) {
    Answer answer;
    answer.status = sticky_error(*self->process, device);
    if (finish) finish(answer);
    if (answer.body.empty()) answer.body.resize(sizeof(wire::Empty));
    answer_at(*self, latest + platform_.calls.wake, std::move(answer));
  };
  if (wait->left == 0) return wait->done(wait->latest);
  std::erase_if(operations, [](const OperationPtr& w) { return w->has_ended; });
  for (const OperationPtr& w : operations) {
    w->on_end.push_back([this, wait, work = w.get(), process = thread.process->number] {
      if (checking_) checking_->host_saw(process, *work);
      wait->latest = std::max(wait->latest, work->ended);
      if (--wait->left == 0) wait->done(wait->latest);
    });
  }
  thread.waits_for = std::move(operations);
}

void Node::host_saw(const Process& process, const std::vector<OperationPtr>& ended) {
  if (!checking_) return;
  for (const OperationPtr& w : ended) {
    if (w) checking_->host_saw(process.number, *w);
  }
}

// --- Running
// ----------------------------------------------------------------------------------------------------------

bool Node::run(uint64_t steps) {
  const uint64_t before = answers_;
  bool more = true;
  try {
    for (uint64_t k = 0; k < steps && more && answers_ == before; ++k) more = engine_.step();
  } catch (const std::bad_alloc&) {
    report_(make_incident(record::IncidentReason::machine_memory_used_up, std::nullopt,
                          "The machine has no memory left for what the programs do."));
    return false;
  }
  // Everybody has waited until now. Who has been answered may tell others, before they act.
  if (checking_) checking_->everybody_waits();
  return more || answers_ != before;
}

void Node::mark_not_replayable(const std::string& why) {
  if (not_replayable_.find(why) != std::string::npos) return;
  not_replayable_ += not_replayable_.empty() ? why : "; " + why;
}

}  // namespace fb::machine
