#include "virtual_node/machine/judging/memory_words.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace fb::machine {
namespace {

constexpr uint64_t kSmall = 1024, kWindow = 4096, kWindows = 8;
constexpr size_t kMostWords = 48;

}  // namespace

void WordCount::add(std::span<const std::byte> memory) {
  std::vector<uint32_t> words;
  const auto read = [&](uint64_t begin, uint64_t bytes) {
    const size_t before = words.size();
    words.resize(before + bytes / sizeof(uint32_t));
    std::memcpy(words.data() + before, memory.data() + begin, bytes / sizeof(uint32_t) * sizeof(uint32_t));
  };
  const uint64_t size = memory.size();
  if (size == 0) return;
  if (size <= kWindow * kWindows) {
    read(0, size);
  } else {
    for (uint64_t k = 0; k < kWindows; ++k) read((size - kWindow) / (kWindows - 1) * k / kWindow * kWindow, kWindow);
  }
  std::ranges::sort(words);
  const uint32_t least = size <= kSmall ? 1 : 8;
  for (auto at = words.begin(); at != words.end();) {
    const auto next = std::upper_bound(at, words.end(), *at);
    if (const auto times = static_cast<uint32_t>(next - at); times >= least) counts_.push_back({*at, times});
    at = next;
  }
}

std::vector<uint32_t> WordCount::most_frequent() const {
  std::vector<Count> all = counts_;
  std::ranges::sort(all, [](const Count& a, const Count& b) { return a.word < b.word; });
  std::vector<Count> merged;
  for (const Count& one : all) {
    if (!merged.empty() && merged.back().word == one.word) {
      merged.back().times += one.times;
    } else {
      merged.push_back(one);
    }
  }
  std::ranges::sort(
      merged, [](const Count& a, const Count& b) { return a.times != b.times ? a.times > b.times : a.word < b.word; });
  std::vector<uint32_t> words;
  for (const Count& one : merged) {
    if (words.size() == kMostWords) break;
    words.push_back(one.word);
  }
  return words;
}

std::vector<uint32_t> find_words(const ProcessServices& node) {
  WordCount count;
  std::set<const mem::Allocation*> seen;
  const auto add = [&](const std::shared_ptr<mem::Allocation>& allocation) {
    if (!allocation || allocation->bytes == nullptr || !seen.insert(allocation.get()).second) return;
    count.add({allocation->bytes.get(), allocation->size});
  };
  for (const auto& process : node.processes) {
    if (process->gone) continue;
    for (const auto& [begin, region] : process->regions) {
      if (!region.of_judge) add(region.allocation);
    }
    for (const auto& [begin, mapping] : process->mappings) {
      if (mapping.physical) add(mapping.physical->allocation);
    }
  }
  return count.most_frequent();
}

}  // namespace fb::machine
