#include "virtual_node/machine/process/run_log.h"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

#include "common/base/hash.h"

namespace fb::machine {
namespace {

constexpr Time kTraceInterval = 1'000'000;

[[noreturn]] void fail_to_write(const std::string& file, int reason) {
  throw std::system_error(reason, std::generic_category(), "cannot write " + file);
}

}  // namespace

RunLog::RunLog(uint32_t devices, fabric::Fabric& fabric, const Engine& engine, const std::string& events, bool trace)
    : engine_(engine), devices_(devices) {
  if (!events.empty()) {
    events_file_ = events;
    events_.reset(std::fopen(events.c_str(), "we"));
    if (!events_) fail_to_write(events, errno);
  }
  if (trace) timeline_.emplace(devices, fabric.log_traffic(kTraceInterval));
}

void RunLog::add(const char* what, std::initializer_list<uint64_t> words) {
  hash_ = mix(mix(hash_, static_cast<uint64_t>(what[0])), words);
  if (!events_) return;
  std::string line = what;
  for (const uint64_t w : words) line += fmt::format(" {}", w);
  add_line(fmt::format("{} schedule {:016x}\n", line, engine_.schedule_hash()));
}

void RunLog::add_line(const std::string& line) {
  if (std::fwrite(line.data(), 1, line.size(), events_.get()) != line.size() && events_lost_ == 0) events_lost_ = errno;
}

void RunLog::add_call(HostThread& thread, wire::Status status) {
  thread.calls = mix(thread.calls, {static_cast<uint64_t>(thread.request), static_cast<uint64_t>(status), thread.now});
  if (!events_) return;
  add_line(fmt::format("call rank {} {} status {} at {}\n", thread.process->rank, wire::name_of(thread.request),
                       static_cast<unsigned>(status), thread.now));
}

void RunLog::add_finished(const Operation& op) {
  if (op.name.empty()) return;
  add("end of operation", {op.device, static_cast<uint64_t>(op.process->rank), op.begun, op.ended});
  if (timeline_) timeline_->add_finished(op);
}

void RunLog::finish_events() {
  if (!events_) return;
  if (std::fclose(events_.release()) != 0 && events_lost_ == 0) events_lost_ = errno;
  if (events_lost_ != 0) fail_to_write(events_file_, events_lost_);
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
