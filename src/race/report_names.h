#pragma once

// The names that reports use: of threads, instructions and bytes.

#include <cstdint>
#include <set>
#include <string>

#include "race/access_context.h"
#include "race/agents.h"
#include "race/report.h"

namespace fb::race {

// "reads", "writes", "updates"
const char* verb_of(const ShadowCell& cell);

class ReportNames {
 public:
  ReportNames(const Agents& agents, LocateFn locate) : agents_(agents), locate_(std::move(locate)) {}

  // "rank 1 (device 1), kernel, block 0, thread 4"
  std::string agent(const ShadowCell& cell, uint32_t lane) const;
  // "file.cu:12"; empty: an operation that is not a kernel, or its module has been unloaded.
  std::string line(Site site) const;
  // The same, with the instruction.
  std::string instruction(const ShadowCell& cell) const;
  // A line for each kernel whose full signature is longer than the name that agent() uses, and is not in `said` yet.
  static std::string signatures(const OperationInfo& first, const OperationInfo& then, std::set<std::string>& said);
  std::string bytes(const LineRef& at, uint32_t offset) const;

 private:
  const Agents& agents_;
  LocateFn locate_;
};

}  // namespace fb::race
