#include <fabricbench/oracle.h>

#include <utility>
#include <vector>

using namespace fabricbench::oracle;

// The rank whose pages come to rank r.
static int before(int r, int world) { return (r + world - (world + 1) / 2) % world; }

// The numbers 0 to of - 1 in a random order; the first ones of them where there are fewer elements.
static void shuffle(Case& c, std::span<int32_t> numbers, int64_t of) {
  std::vector<int32_t> all(static_cast<size_t>(of));
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int32_t>(i);
  for (size_t i = 0; i < numbers.size(); ++i) {
    std::swap(all[i], all[i + static_cast<size_t>(c.random.below(static_cast<int64_t>(all.size() - i)))]);
    numbers[i] = all[i];
  }
}

static void fill(Case& c) {
  const int64_t pages = c["pages"];
  for (int r = 0; r < c.world(); ++r) {
    shuffle(c, c.input<int32_t>("from_pages", r), c["pool"]);
    shuffle(c, c.input<int32_t>("to_pages", r), c["pool"]);
    shuffle(c, c.input<int32_t>("order", r), c["layers"]);
    // From seven eighths of the most up.
    const int64_t few = (7 * pages + 7) / 8;
    c.input<int32_t>("counts", r)[0] = static_cast<int32_t>(few + c.random.below(pages - few + 1));
  }
  for (int r = 0; r < c.world(); ++r) {
    c.input<int32_t>("counts", r)[1] = c.input<int32_t>("counts", before(r, c.world()))[0];
  }
}

static void expect(Case& c) {
  const int64_t pages = c["pages"], words = c["words"];
  for (int r = 0; r < c.world(); ++r) {
    const int source = before(r, c.world());
    const auto in = c.input<uint32_t>("in", source);
    const auto from = c.input<int32_t>("from_pages", source), to = c.input<int32_t>("to_pages", r);
    const int64_t count = c.input<int32_t>("counts", source)[0];
    Output out = c.output("out", r);
    for (int64_t i = 0; i < out.size(); ++i) {
      const auto page = static_cast<size_t>(i / words % pages);
      const auto places = static_cast<uint32_t>(from[page] + to[page]);
      out.set(i, static_cast<int64_t>(page) < count ? in[static_cast<size_t>(i)] + places : 0);
    }
    Output strays = c.output("strays", r);
    for (int64_t i = 0; i < strays.size(); ++i) strays.set(i, 0);
    Output arrived = c.output("arrived", r);
    for (int64_t k = 0; k < c["layers"]; ++k) arrived.set(k, c.input<int32_t>("order", source)[static_cast<size_t>(k)]);
  }
}

FABRICBENCH_ORACLE(expect, fill)
