#include <fabricbench/oracle.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

using namespace fabricbench::oracle;

// At timed sizes (`capacity` a multiple of 32) ranks are 7/8 to all full, and small keys are more frequent than large
// ones. Elsewhere kinds of keys take turns from call to call, and kinds of counts are drawn.
void fill(Case& c) {
  const int64_t capacity = c["capacity"], world = c.world();
  const bool timed = capacity % 32 == 0;
  constexpr int32_t kLowest = std::numeric_limits<int32_t>::min(), kHighest = std::numeric_limits<int32_t>::max();
  constexpr int32_t kFew[] = {kLowest, -1, 0, kHighest};
  const int kind = c.call() % 4;
  const int32_t same = kFew[c.random.below(4)];
  const int64_t counts = c.random.below(4), alone = c.random.below(world);
  for (int rank = 0; rank < world; ++rank) {
    int64_t count = capacity;  // counts = 0: all are full
    if (timed) {
      count -= c.random.below(capacity / 8 + 1);
    } else if (counts == 1) {
      count = c.random.below(capacity + 1);
    } else if (counts == 2) {  // some are empty
      count = c.random.below(2) * capacity;
    } else if (counts == 3 && rank != alone) {  // one has nearly all
      count = c.random.below(2);
    }
    c.input<int32_t>("count", rank)[0] = static_cast<int32_t>(count);
    for (int32_t& key : c.input<int32_t>("key", rank)) {
      const double u = c.random.unit();
      if (timed) {
        key = static_cast<int32_t>(u * u * 0x1p32 - 0x1p31);
      } else if (kind == 0) {  // any number
        key = static_cast<int32_t>(c.random.bits());
      } else if (kind == 1) {  // few values
        key = kFew[c.random.below(4)];
      } else if (kind == 2) {  // ranges that do not overlap, the last rank's first
        key = static_cast<int32_t>((world - 1 - rank) * 1000 + c.random.below(1000));
      } else {
        key = same;
      }
    }
  }
}

void expect(Case& c) {
  const int64_t capacity = c["capacity"], world = c.world();
  // A key above its origin: ascending in the order of keys, then ranks, then positions.
  std::vector<int64_t> all;
  for (int rank = 0; rank < world; ++rank) {
    const auto key = c.input<int32_t>("key", rank);
    const int64_t count = c.input<int32_t>("count", rank)[0];
    for (int64_t p = 0; p < count; ++p)
      all.push_back(key[static_cast<size_t>(p)] * (int64_t{1} << 32) + rank * capacity + p);
  }
  std::sort(all.begin(), all.end());
  const auto total = static_cast<int64_t>(all.size());
  for (int w = 0; w < world; ++w) {
    const int64_t first = w * total / world, end = (w + 1) * total / world;
    Output block = c.output("block", w), sorted = c.output("sorted_key", w), origin = c.output("origin", w);
    block.set(0, static_cast<double>(first));
    block.set(1, static_cast<double>(end));
    for (int64_t k = 0; k < capacity; ++k) {
      if (k >= end - first) {
        sorted.ignore(k);
        origin.ignore(k);
        continue;
      }
      const int64_t word = all[static_cast<size_t>(first + k)];
      sorted.set(k, static_cast<double>(word >> 32));
      origin.set(k, static_cast<double>(word & 0xFFFFFFFF));
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
