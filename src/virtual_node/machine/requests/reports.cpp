// Records and explanations.

#include <fmt/format.h>

#include <utility>

#include "common/base/demangle.h"
#include "common/base/text_limits.h"
#include "virtual_node/machine/deadlock/explain.h"
#include "virtual_node/machine/deadlock/gather.h"
#include "virtual_node/machine/engine/branch_report.h"
#include "virtual_node/machine/engine/budget_report.h"
#include "virtual_node/machine/requests/node.h"

namespace fb::machine {
namespace {

constexpr size_t kMostNamed = 32;  // of one kind

}  // namespace

std::string Node::history() const {
  if (!checking_ || options_.why.empty()) return "";
  std::string text = fmt::format("history of {}:", options_.why);
  const auto& lines = checking_->history();
  if (lines.empty()) text += " nothing has touched it";
  for (const std::string& line : lines) text += "\n  " + line;
  return text;
}

void Node::fill(record::RunRecord& record) const {
  record.virtual_seconds = static_cast<double>(engine_.now()) * 1e-12;
  record.instructions = engine_.instructions();
  record.event_log_hash = fmt::format("{:016x}", log_.hash(threads_.all()));
  log_.fill(record);
  record.choices = engine_.choices();
  if (checking_) {
    record.old_reads = std::as_const(*checking_).detector().old_reads().describe();
    checking_->fill(record);
  }
  lost_.fill(record);
  record.branches = modules_.past_branches();
  for (const auto& process : processes_) {
    for (const auto& [device, context] : process->contexts) {
      for (const auto& [id, module] : context->modules) record::merge(record.branches, branches_of(*module.loaded));
    }
  }
  record.profile = clock_.profiled();
  if (services_.judge) record.late_requests = services_.judge->late_requests();
  for (uint32_t d = 0; d < platform_.devices(); ++d) {
    const fabric::Counters& c = fabric_.counters(d);
    auto& device = record.devices[d];
    device.peak_memory = budget_.peak(d);
    device.peer_bytes_sent = c[static_cast<size_t>(fabric::Traffic::peer_out)];
    device.peer_bytes_received = c[static_cast<size_t>(fabric::Traffic::peer_in)];
    device.memory_bytes = c[static_cast<size_t>(fabric::Traffic::memory)];
  }
}

std::string Node::explain_deadlock() const {
  NodeState state{processes_, threads_.all(), engine_, writes_};
  state.collective = collectives_.blame();
  state.cards = verbs_.blame();
  state.explain_memory = [this](uint32_t process, uint64_t address) { return verbs_.explain_memory(process, address); };
  state.explain_wait = [this](const HostThread& thread) {
    auto wait = collectives_.explain_wait(thread);
    if (!wait) wait = verbs_.explain_wait(thread);
    return !wait && services_.judge ? services_.judge->explain_wait(thread) : wait;
  };
  if (services_.judge)
    state.has_returned = [this](const Process& process) { return services_.judge->has_returned(process); };
  return explain(gather(state));
}

std::string Node::explain_work() const {
  const auto name = [this](const GridRun& run) {
    for (const auto& process : processes_) {
      for (const auto& [device, context] : process->contexts) {
        if (context.get() == run.environment) return fmt::format("{}, device {}", name_of(*process), device);
      }
    }
    return fmt::format("device {}", run.gpu);
  };
  return machine::explain_work(engine_, name);
}

std::string Node::explain_loss(const Process& process) const {
  std::string text;
  size_t named = 0;
  for (const auto& run : engine_.runs()) {
    for (const auto& [device, context] : process.contexts) {
      if (context.get() == run->environment && ++named <= at_most(kMostNamed))
        text += fmt::format("{} ended while its kernel {} ran on device {}; the kernel was stopped.\n",
                            name_of(process), demangle(run->grid.kernel->name), device);
    }
  }
  return text;
}

}  // namespace fb::machine
