#include "virtual_node/race/shadow/flag.h"

namespace fb::race {

Flag& Flags::make(uint32_t begin, uint32_t bytes) {
  const auto [first, last] = range(begin, begin + bytes);
  if (last - first == 1 && flags_[first].offset == begin && flags_[first].bytes == bytes) return flags_[first];
  const auto at = flags_.erase(flags_.begin() + static_cast<std::ptrdiff_t>(first),
                               flags_.begin() + static_cast<std::ptrdiff_t>(last));
  static const ReleasesRef none = std::make_shared<const Releases>();
  return *flags_.insert(at, {static_cast<uint8_t>(begin), static_cast<uint8_t>(bytes), none, none});
}

void Flags::erase(uint32_t begin, uint32_t end) {
  const auto [first, last] = range(begin, end);
  flags_.erase(flags_.begin() + static_cast<std::ptrdiff_t>(first), flags_.begin() + static_cast<std::ptrdiff_t>(last));
}

}  // namespace fb::race
