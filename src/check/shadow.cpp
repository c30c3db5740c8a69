#include "check/shadow.h"

namespace fb::check {

void Line::cut(uint32_t at) {
  if (at == 0 || at == kLineBytes) return;
  for (size_t k = 0; k < parts->size(); ++k) {
    Segment& s = (*parts)[k];
    if (s.begin >= at) return;
    if (s.end <= at) continue;
    Segment behind = s;
    s.end = behind.begin = static_cast<uint8_t>(at);
    parts->insert(parts->begin() + static_cast<std::ptrdiff_t>(k) + 1, std::move(behind));
    return;
  }
}

}  // namespace fb::check
