#include "virtual_node/race/check/uninitialised_reads.h"

#include <fmt/format.h>

namespace fb::race {

void UninitialisedReads::report_if_whole(const AccessContext& access, const Segment& segment, const LineRef& at) {
  const ShadowCell& cell = access.cell;
  // Copies, also asynchronous ones, do not use what they read; a stream that waits for a value does.
  if (access.async || (access.warp == nullptr && !cell.strong)) return;
  const uint32_t bytes = access.lane_bytes != 0 ? access.lane_bytes : uint32_t{1} << cell.whole;
  const uint32_t first = (segment.begin + bytes - 1) / bytes * bytes;  // accesses are aligned
  if (first + bytes > segment.end) return;
  if (!reported_.insert(cell.site).second) return;
  const OperationInfo& op = agents_.operation_of(cell.block);
  Report report;
  report.id = kUninitialisedId;
  if (op.rank >= 0) report.rank = op.rank;
  report.sites.push_back(names_.site("read", cell, cell.lane_at(first)));
  report.text = fmt::format(
      "uninitialised read: the memory was allocated, and nothing has written these bytes since\n"
      "  read:   {} {}: {}\n"
      "  bytes:  {}\n"
      "  smallest change: clear the memory after it was allocated (cudaMemset on its owner, then a "
      "synchronisation of all ranks), before anything can read it; fresh memory holds any bytes",
      names_.agent(cell, cell.lane_at(first)), verb_of(cell), names_.instruction(cell), names_.bytes(at, first));
  report_(std::move(report));
}

}  // namespace fb::race
