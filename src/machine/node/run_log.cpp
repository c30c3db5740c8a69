#include "machine/node/run_log.h"

#include <fmt/format.h>

#include "base/hash.h"

namespace fb::machine {
namespace {

constexpr Time kTraceInterval = 1'000'000;

}  // namespace

RunLog::RunLog(uint32_t devices, fabric::Fabric& fabric, const Engine& engine, const std::string& events, bool trace)
    : engine_(engine), devices_(devices) {
  if (!events.empty()) events_.reset(std::fopen(events.c_str(), "w"));
  if (!trace) return;
  trace_.emplace();
  traffic_ = &fabric.log_traffic(kTraceInterval);
  for (uint32_t d = 0; d < devices; ++d) trace_->name_process(d, fmt::format("device {}", d));
}

void RunLog::add(const char* what, std::initializer_list<uint64_t> words) {
  hash_ = mix(mix(hash_, static_cast<uint64_t>(what[0])), words);
  if (!events_) return;
  std::string line = what;
  for (const uint64_t w : words) line += fmt::format(" {}", w);
  std::fprintf(events_.get(), "%s schedule %016lx\n", line.c_str(), engine_.schedule_hash());
}

void RunLog::add_call(HostThread& thread, wire::Status status) {
  thread.calls = mix(thread.calls, {static_cast<uint64_t>(thread.request), static_cast<uint64_t>(status), thread.now});
  if (!events_) return;
  std::fprintf(events_.get(), "call rank %d %s status %u at %lu\n", thread.process->rank, wire::name_of(thread.request),
               static_cast<unsigned>(status), thread.now);
}

void RunLog::add_finished(const Operation& op) {
  if (op.name.empty()) return;
  add("end of operation", {op.device, static_cast<uint64_t>(op.process->rank), op.begun, op.ended});
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

const record::Trace* RunLog::finish_trace() {
  if (!trace_) return nullptr;
  static constexpr std::pair<fabric::Traffic, const char*> kCurves[] = {
      {fabric::Traffic::peer_out, "link out, GB/s"},
      {fabric::Traffic::peer_in, "link in, GB/s"},
      {fabric::Traffic::memory, "memory, GB/s"},
      {fabric::Traffic::to_host, "to host, GB/s"},
      {fabric::Traffic::from_host, "from host, GB/s"}};
  const Time interval = traffic_->interval();
  for (uint32_t d = 0; d < devices_.size(); ++d) {
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

uint64_t RunLog::hash_of_calls(const HostThread& thread) {
  return mix(thread.calls, static_cast<uint64_t>(thread.process->rank));
}

uint64_t RunLog::hash(const std::vector<std::shared_ptr<HostThread>>& threads) const {
  uint64_t calls = calls_of_gone_;
  for (const auto& thread : threads) calls += hash_of_calls(*thread);
  return mix(mix(hash_, engine_.schedule_hash()), calls);
}

void RunLog::count_in_run(wire::Kind kind) {
  using namespace wire::message_flags;
  // Requests of the harness and of the library are not the program's.
  if (kind == wire::Kind::none || wire::has_flag(kind, not_counted | judge_only)) return;
  ++calls_in_run_[wire::name_of(kind)];
}

void RunLog::count_unsupported(const std::string& call) {
  constexpr size_t kMostNames = 1000;
  if (unsupported_.size() < kMostNames || unsupported_.contains(call)) ++unsupported_[call];
}

void RunLog::count_failed(const std::string& call) {
  constexpr size_t kMostCalls = 50;
  if (failed_.size() < kMostCalls || failed_.contains(call)) ++failed_[call];
}

void RunLog::mark_not_replayable(const std::string& why) {
  if (not_replayable_.find(why) != std::string::npos) return;
  not_replayable_ += not_replayable_.empty() ? why : "; " + why;
}

void RunLog::fill(record::RunRecord& record) const {
  record.replayable = not_replayable_.empty();
  record.not_replayable_because = not_replayable_;
  record.unsupported_calls = unsupported_;
  record.failed_calls = failed_;
  record.calls_in_run = calls_in_run_;
  record.devices = devices_;
}

}  // namespace fb::machine
