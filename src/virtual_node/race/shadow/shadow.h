#pragma once

// Shadow memory: per line of 128 bytes the last write and the reads since. A line that whole warps access
// is one segment; partial and mixed accesses split it into several.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "virtual_node/race/shadow/flag.h"
#include "virtual_node/race/shadow/shadow_cell.h"
#include "virtual_node/race/shadow/stale_value.h"

namespace fb::race {

inline constexpr uint32_t kLineBytes = 128;

// Bytes [begin, end) of a line, all with the same last write and reads.
struct Segment {
  uint8_t begin = 0, end = kLineBytes;
  ShadowCell write;
  ShadowCell read;                                      // the only one, or the first
  std::unique_ptr<std::vector<ShadowCell>> more_reads;  // by other agents, not ordered with it; null or empty: none

  Segment() = default;
  Segment(const Segment& o)
      : begin(o.begin),
        end(o.end),
        write(o.write),
        read(o.read),
        more_reads(o.more_reads && !o.more_reads->empty() ? std::make_unique<std::vector<ShadowCell>>(*o.more_reads)
                                                          : nullptr) {}
  Segment& operator=(const Segment&) = delete;
  Segment(Segment&&) = default;
  Segment& operator=(Segment&&) = default;
  ~Segment() = default;
};

// Few lines have these: flags that carry releases, and older contents.
struct LineExtras {
  Flags flags;
  std::vector<StaleValue> stale;  // the newest last
  bool named = false;             // by clocks: the line has had flags
};

struct Line {
  Segment whole;
  std::unique_ptr<std::vector<Segment>> parts;  // replaces `whole`: in order, without gaps
  std::unique_ptr<LineExtras> extras;

  // f(Segment&) for the segments that make up [begin, end), which are split where needed.
  template <class F>
  void each(uint32_t begin, uint32_t end, F f) {
    if (!parts) {
      if (begin == 0 && end == kLineBytes) return f(whole);
      constexpr size_t kFew = 4;
      parts = std::make_unique<std::vector<Segment>>();
      parts->reserve(kFew);
      parts->push_back(std::move(whole));
    }
    split(begin);
    split(end);
    for (size_t k = first_after(begin); k < parts->size() && (*parts)[k].begin < end; ++k) f((*parts)[k]);
  }
  const Segment& at(uint32_t offset) const { return parts ? (*parts)[first_after(offset)] : whole; }
  // Merges segments in [begin, end) that were written together.
  void merge(uint32_t begin, uint32_t end);
  LineExtras& extra() {
    if (!extras) extras = std::make_unique<LineExtras>();
    return *extras;
  }

 private:
  // The first of `parts` that ends after `at`.
  size_t first_after(uint32_t at) const {
    return static_cast<size_t>(std::ranges::partition_point(*parts, [&](const Segment& s) { return s.end <= at; }) -
                               parts->begin());
  }
  void split(uint32_t at);
};

// The lines of an allocation, or of the shared memory of a block. Allocated when first accessed. A page whose lines are
// all alike, because operations of streams have accessed them together, is kept as one segment.
class Shadow {
 public:
  static constexpr uint64_t kPageLines = 64, kPageBytes = kPageLines * kLineBytes;

  Shadow(uint32_t number, uint64_t bytes) : number_(number), pages_((bytes + kPageBytes - 1) / kPageBytes) {}

  uint32_t number() const { return number_; }  // in reports: m7
  Line& line(uint64_t index) {
    Page& page = pages_[index / kPageLines];
    if (!page.lines) [[unlikely]]
      split(page);
    return (*page.lines)[index % kPageLines];
  }
  // The segment that stands for all lines of a page; null: they differ. Valid until the next call of line().
  Segment* whole_page(uint64_t number) {
    Page& page = pages_[number];
    if (page.lines) return nullptr;
    if (!page.whole) page.whole = std::make_unique<Segment>();
    return page.whole.get();
  }
  // All bytes of the page were written together.
  void make_whole(uint64_t number, const ShadowCell& write);

 private:
  using Lines = std::array<Line, kPageLines>;
  struct Page {
    std::unique_ptr<Lines> lines;
    std::unique_ptr<Segment> whole;  // instead of lines
  };
  static void split(Page& page);

  uint32_t number_;
  std::vector<Page> pages_;
};

}  // namespace fb::race
