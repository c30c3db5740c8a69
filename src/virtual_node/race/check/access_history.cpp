#include "virtual_node/race/check/access_history.h"

#include <fmt/format.h>

#include "common/base/byte_name.h"

namespace fb::race {

AccessHistory::AccessHistory(const Options& options, const ReportNames& names) : names_(names) {
  if (const auto why = byte_named(options.why)) {
    shadow_ = why->memory;
    offset_ = why->offset;
  }
}

void AccessHistory::note(const AccessContext& access, const LineRef& at, uint32_t begin, uint32_t end) {
  constexpr size_t kMostLines = 20'000;
  const uint64_t first = at.line * kLineBytes + begin, last = at.line * kLineBytes + end;
  if (offset_ < first || offset_ >= last || lines_.size() >= kMostLines) return;
  const auto offset = static_cast<uint32_t>(offset_ % kLineBytes);
  lines_.push_back(fmt::format("{} {} it: {}", names_.agent(access.cell, access.cell.lane_at(offset)),
                               verb_of(access.cell), names_.instruction(access.cell)));
}

}  // namespace fb::race
