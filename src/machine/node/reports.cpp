// What is written down: logs, traces, records, and explanations for people.

#include <fmt/format.h>

#include "base/demangle.h"
#include "base/hash.h"
#include "machine/deadlock/explain.h"
#include "machine/deadlock/gather.h"
#include "machine/judging/judgement.h"
#include "machine/node/node.h"

namespace fb::machine {
namespace {

using wire::Status;

constexpr size_t kMostNamed = 32;  // of one kind

}  // namespace

void Node::log(const char* what, std::initializer_list<uint64_t> words) {
  log_hash_ = mix(mix(log_hash_, static_cast<uint64_t>(what[0])), words);
  if (!events_) return;
  std::string line = what;
  for (const uint64_t w : words) line += fmt::format(" {}", w);
  std::fprintf(events_, "%s schedule %016lx\n", line.c_str(), engine_.schedule_hash());
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

std::string Node::history() const {
  if (!checking_ || options_.why.empty()) return "";
  std::string text = fmt::format("history of {}:", options_.why);
  const auto& lines = checking_->history();
  if (lines.empty()) text += " nothing has touched it";
  for (const std::string& line : lines) text += "\n  " + line;
  return text;
}

uint64_t Node::log_of_all() const {
  uint64_t hash = mix(log_hash_, engine_.schedule_hash());
  // Threads of a process, and processes, are added in no particular order: sums do not mind.
  uint64_t calls = calls_of_gone_;
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
  record.choices = engine_.choices();
  record.calls_in_run = calls_in_run_;
  if (judgement_) record.late_requests = judgement_->late_requests();
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
  NodeState state{processes_, threads_, engine_, writes_};
  if (judgement_) {
    state.has_returned = [this](const Process& process) { return judgement_->has_returned(process); };
    state.explain_wait = [this](const HostThread& thread) { return judgement_->explain(thread); };
  }
  return explain(gather(state));
}

std::string Node::explain_loss(const Process& process) const {
  std::string text;
  size_t named = 0;
  for (const auto& run : engine_.runs()) {
    for (const auto& [device, context] : process.contexts) {
      if (context.get() == run->environment && ++named <= kMostNamed)
        text += fmt::format("{} ended while its kernel {} ran on device {}; the kernel was stopped.\n",
                            name_of(process), demangle(run->grid.kernel->name), device);
    }
  }
  return text;
}

}  // namespace fb::machine
