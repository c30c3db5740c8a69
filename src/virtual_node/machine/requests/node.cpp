#include "virtual_node/machine/requests/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include "common/base/hash.h"
#include "common/base/strings.h"
#include "common/platform/pci.h"
#include "virtual_node/machine/requests/handlers.h"
#include "virtual_node/machine/time/unit_times.h"

namespace fb::machine {
namespace {

using wire::Kind;
using wire::Status;

constexpr uint64_t kRequestCost = 500;  // in instructions
// The server looks at its own time after so many.
constexpr uint64_t kMostInstructionsAtOnce = 1'000'000;

DeviceLimits limits_of(const platform::Platform& p) {
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

EngineOptions engine_options(fabric::Fabric& fabric, const NodeOptions& options, TimeKeeper& keeper) {
  EngineOptions o;
  o.schedule = options.choices     ? ScheduleKind::chosen
               : options.untimed   ? ScheduleKind::first_come
               : options.seed == 0 ? ScheduleKind::by_time
                                   : ScheduleKind::random;
  o.seed = options.seed;
  o.choices = options.choices.value_or(std::vector<uint32_t>());
  o.budget = options.budget;
  if (!options.untimed) o.time_keeper = &keeper;
  o.shares = &fabric.shares();
  o.block_start = fabric.platform().kernel.block_start;
  return o;
}

LoadOptions load_options(const platform::Platform& platform, const NodeOptions& options) {
  LoadOptions o;
  o.observed = !options.untimed;
  if (!options.untimed) o.times = unit_times(platform);
  if (options.strict())
    o.tear = options.high_piece_first() ? simt::Tear::high_piece_first : simt::Tear::low_piece_first;
  o.count_branches = options.count_branches;
  return o;
}

std::unique_ptr<Checking> make_checking(const NodeOptions& options, MemoryClock& clock, const Node::Report& report) {
  if (!options.check) return nullptr;
  race::Options o;
  o.seed = options.seed;
  o.strict = options.strict();
  o.weak_lines = options.weak_lines;
  o.one_piece_in = options.race_pieces;
  // Some four seconds, which leaves enough of what a step may take (server.cpp). Programs that people check themselves
  // may take their time.
  constexpr uint64_t kMostWorkWhenJudged = 250'000'000;
  if (!options.sanitizer) o.most_work = kMostWorkWhenJudged;
  o.why = options.why;
  o.sanitizer = options.sanitizer;
  for (const std::string_view word : split(options.allow, ',')) {
    o.allow_same_value |= word == "same-value";
    o.allow_volatile |= word == "volatile";
  }
  auto checking = std::make_unique<Checking>(o, clock, Findings(options.max_reports, options.suppressed, report));
  if (options.uninitialised) checking->look_for_uninitialised();
  return checking;
}

}  // namespace

Node::Node(const platform::Platform& platform, const NodeOptions& options, Reply reply, Report report)
    : platform_(platform),
      options_(options),
      limits_(limits_of(platform)),
      lost_(options, std::move(report)),
      report_([this](record::Incident incident) { lost_.report(std::move(incident)); }),
      budget_(platform.devices(), limits_.memory, options.memory),
      fabric_(platform),
      network_(platform, fabric_.shares()),
      clock_(fabric_),
      engine_(engine_options(fabric_, options, clock_)),
      checking_(make_checking(options, clock_, report_)),
      tokens_(options.secret != 0 ? options.secret : options.seed),
      log_(platform.devices(), fabric_, engine_, options.events, options.trace),
      memory_(platform_, limits_, budget_, tokens_, exports_, engine_, checking_.get(), options.fresh_memory),
      modules_(load_options(platform, options), read_driver_link(options.driver, !options.untimed), memory_,
               checking_.get(), report_),
      threads_(platform.calls.wake, fabric_.shares(), engine_, log_, checking_.get(), std::move(reply),
               [this](Call& call) { handle(call); }),
      services_{
          {platform_, options_,        limits_, report_,  processes_, budget_, fabric_, network_, writes_,  clock_,
           engine_,   checking_.get(), tokens_, exports_, log_,       lost_,   memory_, modules_, threads_, streams_},
          collectives_,
          blas_,
          verbs_,
          graphs_},
      launches_(services_),
      streams_(services_, launches_),
      collectives_(services_),
      blas_(services_),
      verbs_(services_),
      graphs_(services_) {
  clock_.keep_history(&writes_);
  if (options.profile) clock_.profile(limits_);
  if (Timeline* timeline = log_.timeline()) engine_.watch_blocks(*timeline);
  for (uint32_t d = 0; d < platform.devices(); ++d) {
    engine_.add_gpu(limits_, platform.cycle(), platform.device.issue, platform.device.schedulers_per_sm);
  }
  if (!options.untimed) clock_.count_steps(engine_.sync_steps());
}

Node::~Node() {
  for (const auto& process : processes_) {
    for (const auto& [device, context] : process->contexts) engine_.abandon(*context);
  }
  // Break the shared_ptr cycle between waiting threads and the operations they wait for.
  for (const auto& thread : threads_.all()) thread->waits_for.clear();
  streams_.clear(processes_);
  collectives_.clear();
  verbs_.clear();
}

// Processes and threads

Process& Node::add_process(int32_t pid, int32_t rank, int32_t node) {
  auto process = std::make_unique<Process>();
  // A rank's number is its rank, unless two processes have that rank (a program that forks).
  constexpr uint32_t kMostRanks = 1024;
  const bool taken = std::ranges::any_of(processes_, [&](const auto& p) { return p->rank == rank; });
  process->number = rank >= 0 && static_cast<uint32_t>(rank) < kMostRanks && !taken
                        ? static_cast<uint32_t>(rank)
                        : kMostRanks + static_cast<uint32_t>(processes_.size());
  process->pid = pid;
  process->next_allocation = process->number * kAllocationsEach + 1;
  process->rank = rank;
  const uint32_t nodes = platform_.node.nodes;
  process->first_device = (node < 0 ? 0 : static_cast<uint32_t>(node) % nodes) * platform_.node.devices;
  Process& added = *processes_.emplace_back(std::move(process));
  if (static_cast<int>(processes_.size()) >= options_.ranks) services_.everybody_came = true;
  return added;
}

HostThread& Node::add_thread(Process& process, uint64_t connection, uint32_t id, wire::Purpose purpose) {
  return threads_.add(process, connection, id, purpose);
}

void Node::remove_process(Process& process) {
  process.gone = true;
  process.held.clear();
  for (auto& [device, context] : process.contexts) {
    if (context->sticky_error == Status::ok) context->sticky_error = Status::unknown;
    engine_.abandon(*context);
  }
  collectives_.remove_process(process);
  verbs_.remove_process(process);
  streams_.end_all_of(process);
  tokens_.remove_all_of(process);
  for (const auto& [device, context] : process.contexts) {
    for (const auto& [id, module] : context->modules) modules_.forget_code(*module.loaded);
  }
  process.reset();
}

namespace {

wire::PciAddress to_wire(const platform::PciAddress& at) { return {at.domain, at.bus, at.device}; }

void describe_place(wire::DeviceFacts& f, const platform::Platform& p, uint32_t number) {
  constexpr uint32_t kVendor = 0x10de;
  const platform::PciPlace place = platform::place_of_gpu(p, number);
  const platform::Processors near = platform::processors_of(p, place.numa_node);
  f.pci = to_wire(place.device);
  f.pci_ids = p.pci.device_id << 16 | kVendor;
  f.pci_switch = place.pci_switch;
  f.pcie_generation = p.pci.generation;
  f.pcie_lanes = p.pci.lanes;
  f.numa_node = place.numa_node;
  f.first_cpu = near.first;
  f.cpus = near.count;
  if (!p.peer.nvlink) return;
  f.nvlinks = std::min(p.nvlink.links, wire::kMostLinks);
  f.nvlink_generation = p.nvlink.generation;
  f.nvlink_megabytes = static_cast<uint32_t>(p.nvlink.link_bandwidth / 1e6);
  f.nvswitches = p.nvlink.switches;
  for (uint32_t link = 0; link < f.nvlinks; ++link)
    f.link_remote[link] = to_wire(platform::remote_end(p, number, link));
}

}  // namespace

Answer Node::welcome(const Process& process) const { return facts(process.number, process.first_device); }

Answer Node::facts(uint32_t process, uint32_t first_device) const {
  Answer answer;
  wire::Welcome w;
  w.process = process;
  w.devices = platform_.node.devices;
  w.launch_lines = lost_.wanted() ? 1 : 0;
  w.addresses_begin = mem::kConstantBegin;
  w.addresses_end = mem::kGlobalEnd;
  answer.set_body(w);
  for (uint32_t d = 0; d < platform_.node.devices; ++d) {
    wire::DeviceFacts f;
    platform_.device_name.copy(f.name, sizeof f.name - 1);
    const uint32_t number = first_device + d;
    uint64_t id[2] = {mix(0x4642, number), mix(0x4652, number)};
    std::memcpy(f.uuid, id, sizeof f.uuid);
    describe_place(f, platform_, number);
    f.memory_used = budget_.used(number);
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
    f.fabric_handles = platform_.nvlink.switches != 0 ? 1 : 0;
    for (uint32_t peer = 0; peer < platform_.node.devices; ++peer) {
      if (peer == d || !platform_.peer.access) continue;
      f.peers[peer / 64] |= uint64_t{1} << peer % 64;
      if (platform_.peer.atomics) f.peer_atomics[peer / 64] |= uint64_t{1} << peer % 64;
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(&f);
    answer.blob.insert(answer.blob.end(), bytes, bytes + sizeof f);
  }
  return answer;
}

// Requests

namespace {

template <class Request, class Reply>
Answer dispatch(NodeServices& node, Call& call,
                Status (*handler)(NodeServices&, Call&, const Request&, Reply&, Answer&)) {
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
  using namespace wire::message_flags;
  HostThread& thread = *call.thread;
  thread.waiting = true;
  thread.request = call.kind;
  thread.in_library = false;
  thread.now = std::max(thread.now, engine_.now());
  // The judge sends its own kinds of requests and no others; ranks send all the others.
  if (wire::has_flag(call.kind, judge_only) != (thread.purpose == wire::Purpose::judge)) {
    Answer refusal;
    refusal.status = Status::not_permitted;
    log_.add_call(thread, refusal.status);
    return threads_.answer(thread, std::move(refusal));
  }
  if (wire::has_flag(call.kind, enqueues) && HostThreads::is_full(*thread.process))
    return HostThreads::hold(call, thread.process->held);
  if (services_.judge && services_.judge->in_run()) log_.count_in_run(call.kind);
  if (call.kind != Kind::host_time) thread.clock_readings = 0;
  thread.note = {};
  if (!wire::has_flag(call.kind, poll)) {
    thread.polls = 0;
    thread.polled.clear();
    engine_.polls().note_progress();
    engine_.charge(kRequestCost);
  }
  // What hosts have done before this request, of whichever process.
  if (checking_) verbs_.host_accesses().take();
  Answer answer;
  try {
    switch (call.kind) {
#define MESSAGE(kind, Request, Reply, ...)                                      \
  case Kind::kind:                                                              \
    answer = dispatch<wire::Request, wire::Reply>(services_, call, &on_##kind); \
    break;
#include "common/wire/messages.def"
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
  log_.add_call(thread, answer.status);
  threads_.answer(thread, std::move(answer));
}

// The thread is about to compute in one of our libraries for long. The server must not take that for spinning. A zero
// that is none: it has done so, and may wait for other threads.
Status on_library_works(NodeServices&, Call& call, const wire::Empty& m, wire::Empty&, Answer&) {
  call.thread->in_library = m.zero == 0;
  return Status::ok;
}

Status on_report_unsupported(NodeServices& node, Call& call, const wire::ReportUnsupported& m, wire::Empty&, Answer&) {
  if (m.problem > wire::Problem::module) return Status::invalid_value;
  const size_t longest = m.problem != wire::Problem::not_supported ? 400 : 100;
  const std::string_view blob(reinterpret_cast<const char*>(call.blob.data()), call.blob.size());
  const size_t end = blob.find('\0');
  const auto clean = [](std::string_view text, size_t most) {
    std::string cleaned(text.substr(0, most));
    std::ranges::replace_if(cleaned, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
    return cleaned;
  };
  const std::string text = clean(blob.substr(0, end), longest);
  const Process& process = *call.thread->process;
  if (m.problem == wire::Problem::not_supported) {
    node.log.count_unsupported(text);
    return Status::ok;
  }
  node.log.count_failed(text);
  if (m.problem == wire::Problem::module) node.lost.module_refused(process, text);
  if (m.problem != wire::Problem::launch) return Status::ok;
  const std::string where = end == std::string_view::npos ? "" : clean(blob.substr(end + 1), wire::kLongestLaunchLine);
  node.lost.launch_failed(process, text, where);
  return Status::ok;
}

// Running

bool Node::run(uint64_t steps) {
  const uint64_t before = answers();
  bool more = true;
  if (checking_) verbs_.host_accesses().take();
  try {
    only_polls_ = false;
    const uint64_t begin = engine_.instructions();
    for (uint64_t k = 0; k < steps && more && answers() == before && !only_polls_; ++k) {
      if (engine_.instructions() - begin > kMostInstructionsAtOnce) break;
      more = engine_.step();
      only_polls_ = engine_.take_only_polls();
    }
  } catch (const std::bad_alloc&) {
    report_(make_incident(record::IncidentReason::machine_memory_used_up, std::nullopt,
                          "The machine has no memory left for what the programs do."));
    return false;
  }
  // All hosts have waited until now. A thread that has been answered may inform others before they act.
  if (checking_) checking_->all_hosts_wait();
  return more || answers() != before;
}

}  // namespace fb::machine
