#pragma once

// What is remembered of memory: per line of 128 bytes the last write and the reads since. A line that whole warps use
// is one segment; partial and mixed accesses cut it into several.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "race/flag.h"
#include "race/mark.h"
#include "race/past.h"

namespace fb::race {

inline constexpr uint32_t kLineBytes = 128;

// Bytes [begin, end) of a line, all with the same story.
struct Segment {
  uint8_t begin = 0, end = kLineBytes;
  Mark write;
  Mark read;                                      // the only one, or the first
  std::unique_ptr<std::vector<Mark>> more_reads;  // by others, not ordered with it

  Segment() = default;
  Segment(const Segment& o)
      : begin(o.begin),
        end(o.end),
        write(o.write),
        read(o.read),
        more_reads(o.more_reads ? std::make_unique<std::vector<Mark>>(*o.more_reads) : nullptr) {}
  Segment& operator=(const Segment&) = delete;
  Segment(Segment&&) = default;
  Segment& operator=(Segment&&) = default;
  ~Segment() = default;
};

// Of few lines: flags that carry signals, and older contents.
struct LineExtras {
  Flags flags;
  Pasts pasts;
};

struct Line {
  Segment whole;
  std::unique_ptr<std::vector<Segment>> parts;  // instead of `whole`, in order, without gaps
  std::unique_ptr<LineExtras> extras;

  // f(Segment&) for the segments that make up [begin, end), which are cut out if need be.
  template <class F>
  void each(uint32_t begin, uint32_t end, F f) {
    if (!parts) {
      if (begin == 0 && end == kLineBytes) return f(whole);
      parts = std::make_unique<std::vector<Segment>>();
      parts->push_back(std::move(whole));
    }
    cut(begin);
    cut(end);
    for (size_t k = first_behind(begin); k < parts->size() && (*parts)[k].begin < end; ++k) f((*parts)[k]);
  }
  // Segments in [begin, end) that were written together are one again.
  void unite(uint32_t begin, uint32_t end);
  LineExtras& extra() {
    if (!extras) extras = std::make_unique<LineExtras>();
    return *extras;
  }

 private:
  // The first of `parts` that ends behind `at`.
  size_t first_behind(uint32_t at) const {
    return static_cast<size_t>(std::ranges::partition_point(*parts, [&](const Segment& s) { return s.end <= at; }) -
                               parts->begin());
  }
  void cut(uint32_t at);
};

// The lines of an allocation, or of a block's shared memory. Made when first touched.
class Shadow {
 public:
  Shadow(uint32_t number, uint64_t bytes) : number_(number), pages_((bytes + kPageBytes - 1) / kPageBytes) {}

  uint32_t number() const { return number_; }  // for people: m7
  Line& line(uint64_t index) {
    auto& page = pages_[index / kPageLines];
    if (!page) page = std::make_unique<Page>();
    return (*page)[index % kPageLines];
  }

 private:
  static constexpr uint64_t kPageLines = 64, kPageBytes = kPageLines * kLineBytes;
  using Page = std::array<Line, kPageLines>;

  uint32_t number_;
  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace fb::race
