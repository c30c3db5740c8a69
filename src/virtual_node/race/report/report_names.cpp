#include "virtual_node/race/report/report_names.h"

#include <fmt/format.h>

#include <cstdlib>

#include "common/base/demangle.h"

namespace fb::race {

std::string ReportNames::text_of(const simt::SourceLocation& location) const {
  if (location.line == 0) return location.function;
  const size_t slash = whole_paths_ ? std::string::npos : location.file.rfind('/');
  return fmt::format("{}:{}", slash == std::string::npos ? location.file : location.file.substr(slash + 1),
                     location.line);
}

const char* verb_of(const ShadowCell& cell) {
  return cell.access() == AccessKind::atomic ? "updates" : cell.writes() ? "writes" : "reads";
}

std::string ReportNames::agent(const ShadowCell& cell, uint32_t lane) const {
  const BlockInfo& block = agents_.block(cell.block);
  const OperationInfo& op = agents_.operation(block.operation);
  std::string text =
      op.rank >= 0 ? fmt::format("rank {} (device {})", op.rank, op.device) : fmt::format("device {}", op.device);
  if (op.of_card() || op.of_host) return op.rank >= 0 ? fmt::format("rank {}, {}", op.rank, op.name) : op.name;
  if (op.of_judge) return text + ", the judge";
  if (!op.kernel) return fmt::format("{}, {}", text, op.name);
  const std::string thread = lane < simt::kLanes ? fmt::format("thread {}", cell.warp * simt::kLanes + lane)
                                                 : fmt::format("another thread of warp {}", cell.warp);
  return fmt::format("{}, {}, block {}, {}{}", text, short_function_name(demangle(op.name)), block.index, thread,
                     block.async ? " (its asynchronous copy)" : "");
}

std::string ReportNames::signatures(const OperationInfo& first, const OperationInfo& then,
                                    std::set<std::string>& said) {
  std::string text;
  for (const OperationInfo* op : {&first, &then}) {
    if (!op->kernel || op->of_judge) continue;
    const std::string whole = demangle(op->name), name = short_function_name(whole);
    if (whole != name && said.insert(whole).second) text += fmt::format("\n  {} is {}", name, whole);
  }
  return text;
}

std::string ReportNames::line(Site site) const {
  if (std::string line = agents_.host_line(site); !line.empty()) return line;
  const auto [program, origin] = agents_.origin(site);
  return program ? text_of(locate_(*program, origin)) : "";
}

std::string ReportNames::instruction(const ShadowCell& cell) const {
  const auto [program, origin] = agents_.origin(cell.site);
  if (agents_.operation_of(cell.block).of_judge)
    return cell.writes() ? "it overwrites the tensor for the next call, after the work of `stream`"
                         : "it takes the result when the work of `stream` has ended";
  const OperationInfo& op = agents_.operation_of(cell.block);
  if (op.of_host) return line(cell.site).empty() ? "a line that is not known" : line(cell.site);
  if (!program && op.line != 0)
    return fmt::format("{}{}", op.of_card() ? "posted at " : "called at ", text_of({.file = op.file, .line = op.line}));
  if (!program) return "as an operation of its stream";
  const simt::SourceLocation location = locate_(*program, origin);
  return fmt::format("{} ({})", text_of(location), location.text);
}

ReportSite ReportNames::site(std::string_view role, const ShadowCell& cell, uint32_t lane) const {
  const OperationInfo& op = agents_.operation_of(cell.block);
  ReportSite site{role, agent(cell, lane), op.kernel && !op.of_judge ? op.name : "", {}};
  const auto [program, origin] = agents_.origin(cell.site);
  if (!program && op.line != 0) site.frames.push_back({op.file, op.line, op.name});
  if (const std::string text = agents_.host_line(cell.site); !text.empty()) {
    const size_t colon = text.rfind(':');
    const auto number = static_cast<uint32_t>(std::strtoul(text.c_str() + colon + 1, nullptr, 10));
    site.frames.push_back({text.substr(0, colon), number, op.name});
  }
  if (!program || op.of_judge) return site;
  simt::SourceLocation location = locate_(*program, origin);
  site.frames.push_back({std::move(location.file), location.line, std::move(location.function)});
  for (simt::SourceFrame& frame : location.inlined_at) site.frames.push_back(std::move(frame));
  return site;
}

std::string ReportNames::bytes(const LineRef& at, uint32_t offset) const {
  const uint64_t byte = at.line * kLineBytes + offset;
  if (!at.allocation) return fmt::format("byte {} of shared memory", byte);
  const mem::Allocation& a = *at.allocation;
  const std::string owner = a.device == mem::kHostMemory ? "the host" : fmt::format("device {}", a.device);
  return fmt::format("byte {} of {} #{} of {} ({} bytes), address m{}+{:#x}", byte, a.label, a.id, owner, a.size,
                     at.shadow->number(), byte);
}

}  // namespace fb::race
