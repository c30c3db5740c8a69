#include "virtual_node/machine/process/findings.h"

#include <algorithm>
#include <utility>

#include "common/base/demangle.h"

namespace fb::machine {
namespace {

record::Incident incident_of(record::IncidentReason reason, race::Report&& finding) {
  record::Incident incident = make_incident(reason, finding.rank, std::move(finding.text));
  incident.finding = finding.id;
  for (race::ReportSite& site : finding.sites) {
    record::IncidentSite& added = incident.sites.emplace_back();
    added.role = site.role;
    added.agent = std::move(site.agent);
    added.kernel = demangle(site.kernel);
    for (simt::SourceFrame& frame : site.frames)
      added.frames.push_back({std::move(frame.file), frame.line, demangle(frame.function)});
  }
  return incident;
}

}  // namespace

void Findings::add(record::IncidentReason reason, race::Report&& finding) {
  const uint32_t number = finding.number;
  std::string cause = std::move(finding.cause);
  record::Incident incident = incident_of(reason, std::move(finding));
  const auto suppression =
      std::ranges::find_if(suppressions_, [&](const Suppression& s) { return matches(s, incident); });
  if (suppression != suppressions_.end()) {
    const auto index = static_cast<size_t>(suppression - suppressions_.begin());
    ++uses_[index];
    if (reason != record::IncidentReason::unordered_accesses) return;
    suppressed_by_.resize(std::max<size_t>(suppressed_by_.size(), number + size_t{1}));
    suppressed_by_[number] = index;
    return;
  }
  if (reported_ == most_ || (!cause.empty() && !causes_.insert(std::move(cause)).second)) {
    ++unreported_;
    return;
  }
  incident.fatal &= ++reported_ == most_;
  report_(std::move(incident));
}

void Findings::fill(record::RunRecord& record, const std::vector<uint64_t>& further) const {
  std::vector<uint64_t> uses = uses_;
  record.further_findings = unreported_;
  for (size_t k = 0; k < further.size(); ++k) {
    const auto suppression = k < suppressed_by_.size() ? suppressed_by_[k] : std::nullopt;
    (suppression ? uses[*suppression] : record.further_findings) += further[k];
  }
  for (size_t k = 0; k < suppressions_.size(); ++k)
    record.suppressions.push_back({suppressions_[k].text, suppressions_[k].line, uses[k]});
}

}  // namespace fb::machine
