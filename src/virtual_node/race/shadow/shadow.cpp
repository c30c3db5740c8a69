#include "virtual_node/race/shadow/shadow.h"

namespace fb::race {

void Line::split(uint32_t at) {
  if (at == 0 || at == kLineBytes) return;
  const size_t k = first_after(at);
  Segment& s = (*parts)[k];
  if (s.begin == at) return;
  Segment rest = s;
  s.end = rest.begin = static_cast<uint8_t>(at);
  parts->insert(parts->begin() + static_cast<std::ptrdiff_t>(k) + 1, std::move(rest));
}

void Line::merge(uint32_t begin, uint32_t end) {
  if (!parts) return;
  const size_t first = first_after(begin);
  size_t last = first, k = first + 1;
  for (; k < parts->size() && (*parts)[k].begin < end; ++k) {
    Segment& s = (*parts)[k];
    Segment& before = (*parts)[last];
    if (s.write == before.write && !s.read && !before.read) {  // then more_reads is empty too
      before.end = s.end;
    } else if (++last != k) {
      (*parts)[last] = std::move(s);
    }
  }
  parts->erase(parts->begin() + static_cast<std::ptrdiff_t>(last) + 1, parts->begin() + static_cast<std::ptrdiff_t>(k));
  if (parts->size() != 1) return;
  whole = std::move(parts->front());
  parts.reset();
}

void Shadow::split(Page& page) {
  page.lines = std::make_unique<Lines>();
  if (!page.whole) return;
  for (Line& line : *page.lines) line.whole = Segment(*page.whole);
  page.whole.reset();
}

void Shadow::make_whole(uint64_t number, const ShadowCell& write) {
  Page& page = pages_[number];
  // Clocks name the lines of flags by their addresses: such lines stay where they are.
  if (page.lines && std::ranges::any_of(*page.lines, [](const Line& l) { return l.extras != nullptr; })) return;
  page.lines.reset();
  page.whole = std::make_unique<Segment>();
  page.whole->write = write;
}

}  // namespace fb::race
