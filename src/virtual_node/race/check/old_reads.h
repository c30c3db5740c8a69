#pragma once

// Loads that have returned bytes from before a store, because nothing orders the two: not races where both are strong,
// and often the cause of wrong values. A load that comes again (a poll) and then sees the store does not count.

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "virtual_node/race/report/report_names.h"
#include "virtual_node/race/shadow/shadow_cell.h"

namespace fb::race {

class OldReads {
 public:
  explicit OldReads(const ReportNames& names) : names_(names) {}

  // The instruction of a warp (of strong loads: any), and the bytes.
  struct Load {
    BlockId block = 0;
    uint32_t warp = 0;
    Site site = 0;
    const void* line = nullptr;
    uint32_t offset = 0;
    friend auto operator<=>(const Load&, const Load&) = default;
  };
  void add(const Load& load, const ShadowCell& reader, uint32_t lane, const ShadowCell& store);
  // The load came again and returned the newest bytes.
  void came_again(const Load& load) {
    if (!old_.empty()) old_.erase(load);
  }

  void forget() { old_.clear(); }
  // A line for each pair of instructions, the most frequent first.
  std::vector<std::string> describe() const;

 private:
  static constexpr size_t kMostLoads = 4096;

  const ReportNames& names_;
  std::map<std::pair<Site, Site>, std::string> texts_;  // made at once: code may be unloaded later
  std::map<Load, std::pair<Site, Site>> old_;
};

}  // namespace fb::race
