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
  if (trace) timeline_.emplace(devices, fabric.log_traffic(kTraceInterval));
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
  if (timeline_) timeline_->add_finished(op);
}

const record::Trace* RunLog::finish_trace(const std::vector<std::unique_ptr<Process>>& processes,
                                          std::string_view why) {
  return timeline_ ? &timeline_->finish(engine_.now(), processes, why) : nullptr;
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
  record.checked = checked_;
}

}  // namespace fb::machine
