#pragma once

// The names that reports use: of threads, instructions and bytes.

#include <cstdint>
#include <set>
#include <string>

#include "virtual_node/race/agents/access_context.h"
#include "virtual_node/race/agents/agents.h"
#include "virtual_node/race/report/report.h"

namespace fb::race {

// "reads", "writes", "updates"
const char* verb_of(const ShadowCell& cell);

class ReportNames {
 public:
  // `whole_paths`: files are named as the line table does, else without their folders.
  ReportNames(const Agents& agents, LocateFn locate, bool whole_paths)
      : agents_(agents), locate_(std::move(locate)), whole_paths_(whole_paths) {}

  // "rank 1 (device 1), kernel, block 0, thread 4"; a lane of kLanes: another thread of the warp than the one that is
  // named beside it.
  std::string agent(const ShadowCell& cell, uint32_t lane) const;
  // "file.cu:12"; empty: an operation that is not a kernel, or its module has been unloaded.
  std::string line(Site site) const;
  // The same, with the instruction.
  std::string instruction(const ShadowCell& cell) const;
  // A line for each kernel whose full signature is longer than the name that agent() uses, and is not in `said` yet.
  static std::string signatures(const OperationInfo& first, const OperationInfo& then, std::set<std::string>& said);
  std::string bytes(const LineRef& at, uint32_t offset) const;
  // The same for other programs.
  ReportSite site(std::string_view role, const ShadowCell& cell, uint32_t lane) const;

 private:
  const Agents& agents_;
  std::string text_of(const simt::SourceLocation& location) const;

  LocateFn locate_;
  bool whole_paths_;
};

}  // namespace fb::race
