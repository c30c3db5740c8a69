#include "machine/node/node.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
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
  o.order = options.seed == 0 ? Order::by_time : Order::random;
  o.seed = options.seed;
  o.budget = options.budget;
  o.time_keeper = &keeper;
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
      counters_(platform.devices()) {
  for (uint32_t d = 0; d < platform.devices(); ++d) {
    engine_.add_gpu(limits_, static_cast<Time>(1e12 / platform.device.clock), platform.device.issue,
                    platform.device.schedulers_per_sm);
  }
  if (!options.events.empty()) events_ = std::fopen(options.events.c_str(), "w");
  operations_.on_finished = [this](const Operation& op) { note_finished(op); };
  if (!options.trace) return;
  trace_.emplace();
  traffic_ = &fabric_.log_traffic(kTraceInterval);
  for (uint32_t d = 0; d < platform.devices(); ++d) trace_->name_process(d, fmt::format("device {}", d));
}

Node::~Node() {
  for (const auto& process : processes_) {
    for (const auto& [device, context] : process->contexts) engine_.abandon(*context);
  }
  drop_value_waits();
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
  constexpr uint32_t kNumbersEach = 1'000'000;
  process->next_allocation = process->number * kNumbersEach + 1;
  process->rank = rank;
  const uint32_t nodes = platform_.node.nodes;
  process->first_device = (node < 0 ? 0 : static_cast<uint32_t>(node) % nodes) * devices_per_node_;
  return *processes_.emplace_back(std::move(process));
}

HostThread& Node::add_thread(Process& process, uint64_t connection, uint32_t id, wire::Purpose purpose) {
  auto thread = std::make_unique<HostThread>();
  thread->connection = connection;
  thread->id = id;
  thread->process = &process;
  thread->purpose = purpose;
  thread->now = engine_.now();
  const auto own = std::ranges::count_if(threads_, [&](const auto& t) { return t->process == &process; });
  thread->tie = tie_of(process, static_cast<uint64_t>(own));
  return *threads_.emplace_back(std::move(thread));
}

// Threads and processes that have gone stay in the lists: closures may still name them.
void Node::remove_thread(HostThread& thread) {
  thread.gone = true;
  thread.waiting = false;
  if (thread.process->callback_thread == &thread) thread.process->callback_thread = nullptr;
}

void Node::remove_process(Process& process) {
  process.gone = true;
  for (auto& [device, context] : process.contexts) {
    if (context->broken == Status::ok) break_context(process, device, Status::unknown);
  }
  std::erase_if(tokens_, [&](const auto& t) { return t.second.owner == &process; });
  process.callbacks.clear();
  process.physical.clear();
  process.events.clear();
  for (auto& [begin, mapping] : process.mappings) unmap_everywhere(process, begin);
  process.mappings.clear();
  while (!process.regions.empty()) release_region(process, process.regions.begin()->first);
}

std::string Node::name_of(const Process& process) const {
  return process.rank >= 0 ? fmt::format("rank {}", process.rank) : fmt::format("process {}", process.number);
}

Answer Node::welcome(const Process& process) const {
  Answer answer;
  wire::Welcome w;
  w.process = process.number;
  w.devices = devices_per_node_;
  w.addresses_begin = mem::kConstantBegin;
  w.addresses_end = mem::kGlobalBegin + (uint64_t{1} << 44);
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
  }
  if (answer.status == kLater) return;
  log_call(thread, answer.status);
  this->answer(thread, std::move(answer));
}

Status Handlers::on_hello(Node&, Call&, const wire::Hello&, wire::Welcome&, Answer&) { return Status::not_permitted; }

Status Handlers::on_report_unsupported(Node& node, Call& call, const wire::ReportUnsupported&, wire::Nothing&,
                                       Answer&) {
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

Status Node::broken(const Process& process, uint32_t device) const {
  const auto found = process.contexts.find(device);
  return found == process.contexts.end() ? Status::ok : found->second->broken;
}

// The thread is answered when all of `works` have ended.
void Node::wait_for(HostThread& thread, std::vector<Work> works, uint32_t device, std::function<void(Answer&)> finish) {
  std::erase(works, nullptr);
  struct Wait {
    size_t left = 0;
    Time latest = 0;
  };
  auto wait = std::make_shared<Wait>();
  for (const Work& w : works) {
    if (w->has_ended) {
      wait->latest = std::max(wait->latest, w->ended);
    } else {
      ++wait->left;
    }
  }
  const auto done = [this, &thread, device, wait, finish = std::move(finish)] {
    Answer answer;
    answer.status = broken(*thread.process, device);
    if (finish) finish(answer);
    if (answer.body.empty()) answer.body.resize(sizeof(wire::Nothing));
    answer_at(thread, wait->latest + platform_.calls.wake, std::move(answer));
  };
  if (wait->left == 0) return done();
  thread.waits_for = works;
  for (const Work& w : works) {
    if (w->has_ended) continue;
    w->on_end.push_back([wait, done, work = w.get()] {
      wait->latest = std::max(wait->latest, work->ended);
      if (--wait->left == 0) done();
    });
  }
}

// --- Running
// ----------------------------------------------------------------------------------------------------------

bool Node::run(uint64_t steps) {
  const uint64_t before = answers_;
  for (uint64_t k = 0; k < steps && answers_ == before; ++k) {
    if (!engine_.step()) return answers_ != before;
  }
  return true;
}

void Node::mark_not_replayable(std::string why) {
  if (not_replayable_.empty()) not_replayable_ = std::move(why);
}

// --- Records
// ----------------------------------------------------------------------------------------------------------

void Node::log(const char* what, std::initializer_list<uint64_t> words) {
  log_hash_ = mix(mix(log_hash_, static_cast<uint64_t>(what[0])), words);
  if (!events_) return;
  std::string line = what;
  for (const uint64_t w : words) line += fmt::format(" {}", w);
  std::fprintf(events_, "%s course %016lx\n", line.c_str(), engine_.course());
}

void Node::log_call(HostThread& thread, Status status) {
  thread.calls = mix(thread.calls, {static_cast<uint64_t>(thread.request), static_cast<uint64_t>(status), thread.now});
  if (!events_) return;
  std::fprintf(events_, "call rank %d %s status %u at %lu\n", thread.process->rank, wire::name_of(thread.request),
               static_cast<unsigned>(status), thread.now);
}

void Node::note_finished(const Operation& op) {
  if (op.name.empty()) return;
  log("end of operation", {op.device, static_cast<uint64_t>(op.process->rank), op.begun, op.ended});
  if (!trace_) return;
  const auto [row, fresh] = trace_rows_.try_emplace({op.process->number, op.stream << 8 | op.device},
                                                    static_cast<uint32_t>(trace_rows_.size()));
  if (fresh) {
    trace_->name_thread(op.device, row->second,
                        op.stream == 0 ? fmt::format("{}, default stream", name_of(*op.process))
                                       : fmt::format("{}, stream {}", name_of(*op.process), op.stream));
  }
  trace_->add_span(op.device, row->second, op.name, op.begun, op.ended, {{"issued_ns", op.issued / 1000}});
}

const record::Trace* Node::finish_trace() {
  if (!trace_) return nullptr;
  static constexpr std::pair<fabric::Traffic, const char*> kCurves[] = {
      {fabric::Traffic::peer_out, "link out, GB/s"},
      {fabric::Traffic::peer_in, "link in, GB/s"},
      {fabric::Traffic::memory, "memory, GB/s"},
      {fabric::Traffic::to_host, "to host, GB/s"},
      {fabric::Traffic::from_host, "from host, GB/s"}};
  const Time interval = traffic_->interval();
  for (uint32_t d = 0; d < platform_.devices(); ++d) {
    for (const auto& [kind, name] : kCurves) {
      const auto& bytes = traffic_->bytes(d, kind);
      uint64_t last = 0;
      for (size_t k = 0; k < bytes.size(); ++k) {
        if (bytes[k] == last && k != 0) continue;
        last = bytes[k];
        trace_->add_counter(d, name, k * interval, static_cast<double>(last) / static_cast<double>(interval) * 1e3);
      }
      if (!bytes.empty()) trace_->add_counter(d, name, bytes.size() * interval, 0);
    }
  }
  return &*trace_;
}

uint64_t Node::log_of_all() const {
  uint64_t hash = mix(log_hash_, engine_.course());
  // Threads of a process, and processes, are added in no particular order: sums do not mind.
  uint64_t calls = 0;
  for (const auto& thread : threads_) calls += mix(thread->calls, static_cast<uint64_t>(thread->process->rank));
  return mix(hash, calls);
}

void Node::fill(record::RunRecord& record) const {
  record.virtual_seconds = static_cast<double>(engine_.now()) * 1e-12;
  record.instructions = engine_.instructions();
  record.event_log_hash = fmt::format("{:016x}", log_of_all());
  record.replayable = not_replayable_.empty();
  record.not_replayable_because = not_replayable_;
  record.unsupported_calls = unsupported_;
  record.devices = counters_;
  for (uint32_t d = 0; d < platform_.devices(); ++d) {
    const fabric::Counters& c = fabric_.counters(d);
    auto& device = record.devices[d];
    device.peak_memory = memory_peak_[d];
    device.peer_bytes_sent = c[static_cast<size_t>(fabric::Traffic::peer_out)];
    device.peer_bytes_received = c[static_cast<size_t>(fabric::Traffic::peer_in)];
    device.memory_bytes = c[static_cast<size_t>(fabric::Traffic::memory)];
  }
}

std::string Node::explain_deadlock() const {
  std::string text = "Deadlock: everything waits and nothing is in flight.\n";
  for (const auto& run : engine_.runs()) {
    for (const auto& process : processes_) {
      for (const auto& [device, context] : process->contexts) {
        if (context.get() != run->environment) continue;
        text += fmt::format("\n{}, device {}: {}", name_of(*process), device,
                            describe(engine_.explain(*run, context->space)));
      }
    }
  }
  for (const auto& thread : threads_) {
    if (thread->gone || !thread->waiting || thread->request == Kind::callback_next) continue;
    text += fmt::format("\n{}: a host thread waits in {}", name_of(*thread->process), wire::name_of(thread->request));
    for (const Work& w : thread->waits_for) {
      if (w->has_ended) continue;
      text += fmt::format(" for \"{}\"{}", w->name.empty() ? "work on a stream" : w->name,
                          w->has_begun ? ", which has begun" : ", which can't begin yet");
    }
    text += '\n';
  }
  for (const auto& process : processes_) {
    if (process->gone) text += fmt::format("\n{} has ended: nothing can come from it any more.\n", name_of(*process));
  }
  return text;
}

std::string Node::explain_loss(const Process& process) const {
  std::string text;
  for (const auto& run : engine_.runs()) {
    for (const auto& [device, context] : process.contexts) {
      if (context.get() == run->environment)
        text += fmt::format("{} ended while its kernel {} ran on device {}; the kernel was stopped.\n",
                            name_of(process), run->grid.kernel->name, device);
    }
  }
  return text;
}

}  // namespace fb::machine
