#pragma once

// Work that a program believes done and that was not, in a run that is checked for its author: launches that fail,
// kernels that never run because their process has left, modules that can't be loaded, and faults. A program that does
// not look at its errors ends well all the same, and what was to be checked never ran: each is a finding.

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "common/record/incident.h"
#include "common/record/run_record.h"
#include "virtual_node/machine/process/node_options.h"
#include "virtual_node/machine/process/process.h"

namespace fb::machine {

class LostWork {
 public:
  using Report = std::function<void(record::Incident)>;

  LostWork(const NodeOptions& options, Report report);

  // Whether any of this is a finding. A judge has rules of its own.
  bool wanted() const { return wanted_; }

  // Everything that is reported comes by: errors become findings, or are counted where they are to be ignored.
  void report(record::Incident incident);
  // `where`: the host's call as "file:line", or empty.
  void launch_failed(const Process& process, const std::string& what, std::string_view where);
  void module_refused(const Process& process, const std::string& what);
  // A process is about to be removed: what it has launched and not waited for.
  void left(const Process& process);
  void fill(record::RunRecord& record) const;

 private:
  const bool wanted_, ignored_;
  const uint32_t most_;
  Report report_;
  std::set<std::string> told_;
  uint32_t reported_ = 0;
  uint64_t unreported_ = 0, ignored_errors_ = 0;
};

}  // namespace fb::machine
