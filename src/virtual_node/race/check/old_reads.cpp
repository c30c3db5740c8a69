#include "virtual_node/race/check/old_reads.h"

#include <fmt/format.h>

#include <algorithm>

namespace fb::race {

void OldReads::add(const Load& load, const ShadowCell& reader, uint32_t lane, const ShadowCell& store) {
  if (old_.size() >= kMostLoads) return;
  const std::pair pair{reader.site, store.site};
  old_[load] = pair;
  std::string& text = texts_[pair];
  if (!text.empty()) return;
  text =
      fmt::format("{} read at {} what was there before {} wrote at {}", names_.agent(reader, lane),
                  names_.line(reader.site), names_.agent(store, store.lane_at(load.offset)), names_.line(store.site));
}

std::vector<std::string> OldReads::describe() const {
  std::map<std::pair<Site, Site>, size_t> times;
  for (const auto& [load, pair] : old_) ++times[pair];
  std::vector<std::pair<size_t, std::string>> sorted;
  for (const auto& [pair, count] : times) sorted.emplace_back(count, texts_.at(pair));
  std::ranges::sort(sorted, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::vector<std::string> lines;
  for (auto& [count, text] : sorted) lines.push_back(std::move(text));
  return lines;
}

}  // namespace fb::race
