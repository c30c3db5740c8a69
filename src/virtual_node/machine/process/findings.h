#pragma once

// What becomes of a finding of the detector: suppressed, counted, or reported; and which report ends the run.

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/record/run_record.h"
#include "virtual_node/machine/process/suppressions.h"
#include "virtual_node/race/report/report.h"

namespace fb::machine {

class Findings {
 public:
  using Report = std::function<void(record::Incident)>;

  // `most`: the run ends with the report of this number.
  Findings(uint32_t most, std::vector<Suppression> suppressions, Report report)
      : most_(most), suppressions_(std::move(suppressions)), report_(std::move(report)) {
    uses_.resize(suppressions_.size());
  }

  void add(record::IncidentReason reason, race::Report&& finding);
  // `further`: races at the lines of each report again (race::Detector::further_races).
  void fill(record::RunRecord& record, const std::vector<uint64_t>& further) const;

 private:
  uint32_t most_;
  std::vector<Suppression> suppressions_;
  std::vector<uint64_t> uses_;  // by suppression
  Report report_;
  uint32_t reported_ = 0;
  uint64_t unreported_ = 0;                           // of a cause that was reported, or too many
  std::set<std::string> causes_;                      // race::Report::cause of what was reported
  std::vector<std::optional<size_t>> suppressed_by_;  // race::Report::number → suppression
};

}  // namespace fb::machine
