#include "virtual_node/simt/watch.h"

#include <algorithm>

namespace fb::simt {

void Watch::add(const Sleeper& sleeper) {
  const auto first = line(sleeper.begin), last = line(sleeper.begin + sleeper.bytes - 1);
  for (auto l = first; l <= last; ++l) {
    by_line_[l].push_back(sleeper);
    ++filter_[l % kFilter];
    ++count_;
  }
}

void Watch::remove(const Watcher* watcher, uint32_t token, const std::byte* at, uint32_t bytes) {
  const auto first = line(at), last = line(at + bytes - 1);
  for (auto l = first; l <= last; ++l) {
    const auto found = by_line_.find(l);
    if (found == by_line_.end()) continue;
    auto& list = found->second;
    const auto gone = std::ranges::find_if(
        list, [&](const Sleeper& s) { return s.watcher == watcher && s.token == token && s.begin == at; });
    if (gone == list.end()) continue;
    list.erase(gone);
    --filter_[l % kFilter];
    --count_;
    if (list.empty()) by_line_.erase(found);
  }
}

void Watch::clear() {
  by_line_.clear();
  filter_.fill(0);
  count_ = 0;
}

void Watch::wake(uintptr_t line, const std::byte* at, uint64_t bytes) {
  const auto found = by_line_.find(line);
  if (found == by_line_.end()) return;
  // Waking removes entries: collect first.
  std::vector<Sleeper> woken;
  for (const Sleeper& s : found->second) {
    if (s.begin < at + bytes && at < s.begin + s.bytes) woken.push_back(s);
  }
  for (const Sleeper& s : woken) s.watcher->wake(s.token);
}

}  // namespace fb::simt
