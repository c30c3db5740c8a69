#include "virtual_node/machine/process/checking.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "virtual_node/machine/engine/instruction_location.h"
#include "virtual_node/machine/process/process.h"

namespace fb::machine {

// Two listeners as one.
class Checking::Both final : public simt::Listener {
 public:
  Both(simt::Listener& first, simt::Listener& second) : first_(&first), second_(&second) {}

  void on_access(simt::Warp& w, const simt::Access& a) override {
    first_->on_access(w, a);
    second_->on_access(w, a);
  }
  void on_sync(simt::Warp& w, const simt::Sync& s) override {
    first_->on_sync(w, s);
    second_->on_sync(w, s);
  }
  void on_warp_start(simt::Warp& w) override {
    first_->on_warp_start(w);
    second_->on_warp_start(w);
  }
  void on_warp_exit(simt::Warp& w) override {
    first_->on_warp_exit(w);
    second_->on_warp_exit(w);
  }
  // Only the first is a clock.
  void on_units(simt::Warp& w) override { first_->on_units(w); }
  void on_release(simt::Warp& w, const simt::Inst& write) override { first_->on_release(w, write); }
  void on_span(simt::Warp& w, const simt::Span& s) override { first_->on_span(w, s); }
  void on_bank_conflict(simt::Warp& w, const simt::Inst& i, uint64_t extra) override {
    first_->on_bank_conflict(w, i, extra);
  }
  void on_wait_for_loads(simt::Warp& w, const simt::Span& s, uint64_t until) override {
    first_->on_wait_for_loads(w, s, until);
  }
  void on_copy_issue(const simt::AsyncCopy& c) override { second_->on_copy_issue(c); }
  void on_copy_begin(const simt::AsyncCopy& c) override { second_->on_copy_begin(c); }
  void on_copy_end(const simt::AsyncCopy& c) override { second_->on_copy_end(c); }
  void on_mbarrier_signal(simt::Block& owner, const std::byte* at) override { second_->on_mbarrier_signal(owner, at); }
  void on_copies_arrive(simt::Warp& w, uint32_t lane, uint64_t before, simt::Block& owner,
                        const std::byte* at) override {
    second_->on_copies_arrive(w, lane, before, owner, at);
  }

 private:
  simt::Listener* first_;
  simt::Listener* second_;
};

namespace {

// Pseudo-streams for accesses of the judge, and for closes of memory by a host.
constexpr uint64_t kJudge = ~uint64_t{0}, kHost = kJudge - 1;
// Instead of a device: queue pairs of network cards, and hosts.
constexpr uint32_t kCards = ~uint32_t{0}, kHosts = kCards - 1;

}  // namespace

Checking::Checking(const race::Options& options, simt::Listener& clock, Findings findings)
    : findings_(std::move(findings)), detector_(options, location_in, [this](race::Report&& race) {
        findings_.add(record::IncidentReason::unordered_accesses, std::move(race));
      }) {
  both_ = std::make_unique<Both>(clock, detector_);
}
Checking::~Checking() = default;

void Checking::look_for_uninitialised() {
  detector_.look_for_uninitialised(
      [this](race::Report&& read) { findings_.add(record::IncidentReason::uninitialised_read, std::move(read)); });
}

simt::Listener& Checking::listener() { return *both_; }

void Checking::issued(Operation& op, bool hosts_talk) {
  const uint32_t own = op.process->number;
  op.incoming = detector_.join(op.incoming, host_knows(own, hosts_talk));
  if (!hosts_talk) return;
  for (const auto& [process, clock] : ended_before_) {
    if (process != own) op.incoming = detector_.join(op.incoming, clock);
  }
}

race::ClockRef Checking::host_knows(uint32_t process, bool hosts_talk) {
  race::ClockRef clock = detector_.host_clock(process);
  if (!hosts_talk || !has_cards_ || observed_.contains(process)) return clock;
  for (const auto& [other, known] : known_before_) {
    if (other != process) clock = detector_.join(clock, known);
  }
  return clock;
}

uint32_t Checking::begin_host(uint32_t process, int32_t rank) {
  race::OperationInfo info;
  info.name = "its host";
  info.rank = rank;
  info.host = process;
  info.device = kHosts;
  info.of_host = true;
  info.number = ++numbers_[process];
  info.stream_epoch = next_epoch(process, kHosts, 0, 0);
  return detector_.begin_operation(std::move(info), detector_.host_clock(process));
}

void Checking::host_hears_unobserved(uint32_t process) {
  for (const auto& [other, known] : known_before_) {
    if (other != process && !observed_.contains(other)) detector_.host_acquires(process, known);
  }
}

race::StreamEpoch Checking::next_epoch(uint32_t process, uint32_t device, uint64_t stream, uint32_t graph_node) {
  auto [epoch, fresh] = streams_.try_emplace({process, device, stream, graph_node});
  if (fresh) epoch->second.stream = static_cast<uint32_t>(streams_.size());
  ++epoch->second.seq;
  return epoch->second;
}

namespace {

// Of the host's call: "file:line", or nothing.
void set_line(race::OperationInfo& info, std::string_view where) {
  const size_t colon = where.rfind(':');
  if (colon == std::string_view::npos) return;
  info.file = where.substr(0, colon);
  const std::string_view digits = where.substr(colon + 1);
  std::from_chars(digits.data(), digits.data() + digits.size(), info.line);
}

}  // namespace

void Checking::begun(Operation& op) {
  race::OperationInfo info;
  info.name = op.name;
  info.rank = op.process->rank;
  info.host = op.process->number;
  info.device = op.device;
  info.kernel = op.kernel();
  info.of_judge = op.of_judge;
  info.number = ++numbers_[info.host];
  info.call = op.call;
  set_line(info, op.where);
  info.stream_epoch = next_epoch(info.host, op.device, op.stream, op.graph_node);
  op.checked = detector_.begin_operation(std::move(info), op.incoming);
}

void Checking::ended(Operation& op) {
  op.outgoing = op.checked != 0 ? detector_.end_operation(op.checked) : op.incoming;
  op.incoming = nullptr;
  auto& ended = ended_[op.process->number];
  ended = detector_.join(ended, op.outgoing);
}

uint32_t Checking::begin_part(const Operation& op, uint32_t part, std::string name, std::string_view where,
                              const race::ClockRef& before) {
  constexpr uint32_t kParts = uint32_t{1} << 31;  // of OperationInfo: no node of a graph has such a number
  race::OperationInfo info;
  info.name = std::move(name);
  info.rank = op.process->rank;
  info.host = op.process->number;
  info.device = op.device;
  info.number = ++numbers_[info.host];
  info.call = op.call;
  info.stream_epoch = next_epoch(info.host, op.device, op.stream, kParts | op.graph_node << 12 | part);
  set_line(info, where);
  return detector_.begin_operation(std::move(info), before ? detector_.join(op.incoming, before) : op.incoming);
}

race::ClockRef Checking::end_part(const Operation& op, uint32_t part) {
  race::ClockRef clock = detector_.end_operation(part);
  inherit(op, clock);
  return clock;
}

void Checking::access_of_part(uint32_t part, simt::AccessKind kind, mem::Allocation& allocation, const std::byte* at,
                              uint64_t bytes) {
  if (bytes != 0) detector_.access(part, kind, allocation, static_cast<uint64_t>(at - allocation.bytes.get()), bytes);
}

race::StreamEpoch Checking::card_stream(uint32_t process, uint64_t pair, uint32_t kind) {
  has_cards_ = true;
  return next_epoch(process, kCards, pair, kind);
}

void Checking::card_touches(CardTouch&& touch, mem::Allocation& allocation, const std::byte* at, uint64_t bytes) {
  touch.info.number = ++numbers_[touch.info.host];
  set_line(touch.info, touch.where);
  const uint32_t operation = detector_.begin_operation(std::move(touch.info), touch.incoming);
  ++card_accesses_;
  detector_.card_access(operation, touch.kind, allocation, static_cast<uint64_t>(at - allocation.bytes.get()), bytes);
  detector_.end_operation(operation);
}

void Checking::host_acquires(uint32_t process, const Operation& op) { detector_.host_acquires(process, op.outgoing); }

void Checking::synchronise_hosts(const std::vector<uint32_t>& processes) {
  race::ClockRef all;
  for (const uint32_t p : processes) all = detector_.join(all, detector_.host_clock(p));
  for (const uint32_t p : processes) detector_.host_acquires(p, all);
}

void Checking::hosts_acquire_all(const std::vector<uint32_t>& processes) {
  for (const uint32_t p : processes) {
    for (const auto& [other, clock] : ended_) detector_.host_acquires(p, clock);
  }
}

void Checking::all_hosts_wait() {
  ended_before_ = ended_;
  if (has_cards_) known_before_ = detector_.host_clocks();
}

void Checking::opened(uint32_t process, uint64_t token) { openings_[token][process] = std::nullopt; }

void Checking::closed(uint32_t process, uint64_t token) {
  const auto found = openings_.find(token);
  if (found == openings_.end()) return;
  const race::StreamEpoch closed = next_epoch(process, 0, kHost, 0);
  found->second[process] = closed;
  race::Clock clock;
  clock.add(closed);
  detector_.host_acquires(process, std::make_shared<const race::Clock>(std::move(clock)));
}

// A close that does not happen before this free may come after it in another run. The report does not name the other
// rank: where all ranks make the same mistake, which one is found first depends on real time.
void Checking::freed(uint32_t process, int32_t rank, uint64_t token) {
  const auto found = openings_.find(token);
  if (found == openings_.end()) return;
  const race::ClockRef clock = detector_.host_clock(process);
  const auto is_ordered = [&](const auto& opening) {
    return opening.second && clock && clock->covers(*opening.second);
  };
  const bool all = std::ranges::all_of(found->second, is_ordered);
  openings_.erase(found);
  if (all) return;
  if (in_steps_) {
    freed_in_step_[process] = rank;
    return;
  }
  report_early_free(rank);
}

void Checking::end_step(uint32_t process, bool threw) {
  const auto found = freed_in_step_.find(process);
  if (found == freed_in_step_.end()) return;
  const int32_t rank = found->second;
  freed_in_step_.erase(found);
  if (!threw) report_early_free(rank);
}

void Checking::report_early_free(int32_t rank) {
  race::Report report;
  report.id = "freed-while-open";
  report.rank = rank;
  report.text =
      "freed while open: a rank frees memory that another rank has opened, and nothing orders its close "
      "before the free\n"
      "  first:  cudaIpcOpenMemHandle and, perhaps too late, cudaIpcCloseMemHandle on another rank\n"
      "  then:   cudaFree on the rank that the memory belongs to\n"
      "  smallest change: close on all ranks, then synchronise all ranks (rank.barrier()), then free\n";
  findings_.add(record::IncidentReason::freed_while_open, std::move(report));
}

uint32_t Checking::begin_judge_access(uint32_t process, int32_t rank, uint32_t device) {
  race::OperationInfo info;
  info.name = "end of the call";  // inputs are overwritten and outputs read there
  info.rank = rank;
  info.host = process;
  info.device = device;
  info.of_judge = true;
  info.number = ++numbers_[process];
  info.stream_epoch = next_epoch(process, device, kJudge, 0);
  return detector_.begin_operation(std::move(info), detector_.host_clock(process));
}

void Checking::end_judge_access(uint32_t process, uint32_t operation) {
  detector_.host_acquires(process, detector_.end_operation(operation));
}

void Checking::access(const Operation& op, simt::AccessKind kind, mem::Allocation* allocation, const std::byte* at,
                      uint64_t bytes) {
  if (op.checked == 0 || !allocation || bytes == 0) return;
  detector_.access(op.checked, kind, *allocation, static_cast<uint64_t>(at - allocation->bytes.get()), bytes);
}

}  // namespace fb::machine
