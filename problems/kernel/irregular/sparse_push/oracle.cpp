#include <fabricbench/oracle.h>

#include <vector>

using namespace fabricbench::oracle;

// Owners are drawn evenly at timed sizes (`pairs` a multiple of 32); elsewhere every second pair is for one rank, drawn
// anew at each call, until that has as many as fit. Half of the ids are of a small range, so that some occur again.
void fill(Case& c) {
  const int64_t pairs = c["pairs"], world = c.world(), popular = c.random.below(world);
  std::vector<int64_t> room(static_cast<size_t>(world), 2 * pairs);
  for (int rank = 0; rank < world; ++rank) {
    for (int64_t& id : c.input<int64_t>("id", rank)) {
      int64_t owner;
      do {
        owner = pairs % 32 != 0 && c.random.below(2) == 0 ? popular : c.random.below(world);
      } while (room[static_cast<size_t>(owner)] == 0);
      --room[static_cast<size_t>(owner)];
      id = c.random.below(c.random.below(2) == 0 ? 16 : int64_t{1} << 37) * world + owner;
    }
  }
}

void expect(Case& c) {
  const int64_t pairs = c["pairs"], width = c["width"], world = c.world();
  std::vector<int64_t> next(static_cast<size_t>(world));
  for (int source = 0; source < world; ++source) {
    const auto id = c.input<int64_t>("id", source);
    const auto row = c.input<float>("row", source);
    std::vector<Output> offsets, owned_id, owned_row;
    for (int w = 0; w < world; ++w) {
      offsets.push_back(c.output("offsets", w));
      owned_id.push_back(c.output("owned_id", w));
      owned_row.push_back(c.output("owned_row", w));
      offsets.back().set(source, static_cast<double>(next[static_cast<size_t>(w)]));
    }
    for (int64_t p = 0; p < pairs; ++p) {
      const auto owner = static_cast<size_t>(id[static_cast<size_t>(p)] % world);
      const int64_t to = next[owner]++;
      owned_id[owner].set(to, static_cast<double>(id[static_cast<size_t>(p)]));
      const float* from = &row[static_cast<size_t>(p * width)];
      for (int64_t i = 0; i < width; ++i) owned_row[owner].set(to * width + i, from[i]);
    }
  }
  for (int w = 0; w < world; ++w) {
    const int64_t count = next[static_cast<size_t>(w)];
    Output owned_id = c.output("owned_id", w), owned_row = c.output("owned_row", w);
    c.output("offsets", w).set(world, static_cast<double>(count));
    for (int64_t k = count; k < 2 * pairs; ++k) owned_id.ignore(k);
    for (int64_t i = count * width; i < 2 * pairs * width; ++i) owned_row.ignore(i);
  }
}

FABRICBENCH_ORACLE(expect, fill)
