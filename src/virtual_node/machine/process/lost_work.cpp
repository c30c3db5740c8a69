#include "virtual_node/machine/process/lost_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "common/base/text_limits.h"
#include "virtual_node/machine/process/operation.h"

namespace fb::machine {
namespace {

using record::IncidentReason;

constexpr size_t kMostKindsNamed = 16;  // kinds of work of one process
constexpr size_t kMostTold = 10'000;

// "file:line" as a place that sources are shown for.
void add_site(record::Incident& incident, std::string_view role, const std::string& agent, std::string_view where) {
  const size_t colon = where.rfind(':');
  if (colon == std::string_view::npos) return;
  record::SourceFrame frame{.file = std::string(where.substr(0, colon)), .line = 0, .function = {}};
  std::from_chars(where.data() + colon + 1, where.data() + where.size(), frame.line);
  incident.sites.push_back({std::string(role), agent, "", {std::move(frame)}});
}

bool is_of_module(IncidentReason reason) {
  return reason == IncidentReason::module_not_ptx || reason == IncidentReason::module_not_linked ||
         reason == IncidentReason::module_unsupported;
}

std::string_view noun_of(WorkKind kind) {
  return kind == WorkKind::kernel ? "kernel " : kind == WorkKind::host_function ? "a " : "";
}

}  // namespace

LostWork::LostWork(const NodeOptions& options, Report report)
    : wanted_(options.check && options.sanitizer),
      ignored_(options.ignore_errors),
      most_(options.max_reports),
      report_(std::move(report)) {}

void LostWork::report(record::Incident incident) {
  if (!wanted_) return report_(std::move(incident));
  if (is_of_module(incident.reason)) {
    record::Incident refused = make_incident(IncidentReason::module_refused, incident.rank, std::move(incident.text));
    incident = std::move(refused);
  }
  if (!is_survived_error(incident)) return report_(std::move(incident));
  // The same again: of a loop that does not look at its errors.
  if (told_.size() >= kMostTold || !told_.insert(incident.text).second) return;
  if (reported_ == most_) {
    ++(ignored_ ? ignored_errors_ : unreported_);
    return;
  }
  ++reported_;
  if (ignored_) {
    ++ignored_errors_;
  } else {
    incident.finding = to_string(incident.reason);
  }
  report_(std::move(incident));
}

void LostWork::launch_failed(const Process& process, const std::string& what, std::string_view where) {
  if (!wanted_) return;
  const std::string agent = name_of(process);
  record::Incident incident =
      make_incident(IncidentReason::launch_failed, process.rank,
                    fmt::format("{}: {}{}{}\nNothing of it ran: look at the error of every launch.", agent, what,
                                where.empty() ? "" : ", at ", where));
  add_site(incident, "launch", agent, where);
  report(std::move(incident));
}

void LostWork::module_refused(const Process& process, const std::string& what) {
  if (!wanted_) return;
  report(make_incident(IncidentReason::module_refused, process.rank, fmt::format("{}: {}", name_of(process), what)));
}

void LostWork::left(const Process& process) {
  if (!wanted_) return;
  struct Kind {
    const Operation* first;
    uint64_t count = 0;
  };
  std::vector<Kind> kinds;
  for (const auto& op : process.pending) {
    if (op->has_ended || op->ran || op->kind == WorkKind::other || op->kind == WorkKind::copy) continue;
    const auto same = std::ranges::find_if(kinds, [&](const Kind& k) {
      return k.first->name == op->name && k.first->device == op->device && k.first->launched_at == op->launched_at &&
             k.first->has_begun == op->has_begun;
    });
    if (same != kinds.end()) {
      ++same->count;
    } else {
      kinds.push_back({op.get(), 1});
    }
  }
  if (kinds.empty()) return;
  const std::string agent = name_of(process);
  std::string text = fmt::format("{} ended before the work that it had launched:", agent);
  const size_t named = at_most(kMostKindsNamed);
  for (size_t k = 0; k < std::min(kinds.size(), named); ++k) {
    const Operation& op = *kinds[k].first;
    const std::string_view how = !op.has_begun                        ? "never began"
                                 : op.kind == WorkKind::host_function ? "was not called, or did not return"
                                                                      : "was stopped while it ran";
    text += fmt::format("\n  {}{}, device {}{}{}: {}{}", noun_of(op.kind), op.name, op.device - process.first_device,
                        op.launched_at.empty() ? "" : ", launched at ", op.launched_at, how,
                        kinds[k].count == 1 ? "" : fmt::format(" ({} times)", kinds[k].count));
  }
  if (kinds.size() > named) text += fmt::format("\n  … and {} more", kinds.size() - named);
  text += "\nLook at: wait for it (cudaDeviceSynchronize, or the stream or an event of it) before the process ends.";
  record::Incident incident = make_incident(IncidentReason::work_not_done, process.rank, std::move(text));
  for (const Kind& kind : kinds) add_site(incident, "launched", agent, kind.first->launched_at);
  report(std::move(incident));
}

void LostWork::fill(record::RunRecord& record) const {
  record.further_findings += unreported_;
  record.checked.ignored_errors = ignored_errors_;
}

}  // namespace fb::machine
