#include <fabricbench/oracle.h>

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace fabricbench::oracle;

// At timed sizes (`seeds` a multiple of 32) degrees are 0 to 32 and neighbours are drawn evenly. Elsewhere a quarter of
// the nodes has no neighbours, others have few or many, as far as there is room, and half of all neighbours are among
// the first nodes of one rank: many samples are of the same node.
void fill(Case& c) {
  const int64_t seeds = c["seeds"], nodes = c["nodes"], edges = c["edges"], world = c.world();
  const bool timed = seeds % 32 == 0;
  const int64_t popular = c.random.below(world) * nodes, hubs = std::min<int64_t>(nodes, 16);
  const int64_t few = c["second_fanout"] + 1, many = 3 * std::max(c["first_fanout"], c["second_fanout"]);
  for (int rank = 0; rank < world; ++rank) {
    const auto offsets = c.input<int32_t>("offsets", rank);
    int64_t sum = 0;
    for (int64_t v = 0; v < nodes; ++v) {
      offsets[static_cast<size_t>(v)] = static_cast<int32_t>(sum);
      const int64_t kind = c.random.below(4);
      int64_t degree = 0;
      if (timed) {
        degree = c.random.below(33);
      } else if (kind != 0) {
        degree = c.random.below((kind == 1 ? many : few) + 1);
      }
      sum = std::min(sum + degree, edges);
    }
    offsets[static_cast<size_t>(nodes)] = static_cast<int32_t>(sum);
    for (int32_t& neighbour : c.input<int32_t>("neighbour", rank)) {
      const bool hub = !timed && c.random.below(2) == 0;
      neighbour = static_cast<int32_t>(hub ? popular + c.random.below(hubs) : c.random.below(world * nodes));
    }
    std::vector<bool> taken(static_cast<size_t>(world * nodes));
    for (int32_t& seed : c.input<int32_t>("seed", rank)) {
      do {
        seed = static_cast<int32_t>(c.random.below(world * nodes));
      } while (taken[static_cast<size_t>(seed)]);
      taken[static_cast<size_t>(seed)] = true;
    }
  }
}

static uint32_t mix(uint32_t x) {
  x ^= x >> 16;
  x *= 0x85EBCA6B;
  x ^= x >> 13;
  x *= 0xC2B2AE35;
  return x ^ x >> 16;
}

void expect(Case& c) {
  const int64_t nodes = c["nodes"], edges = c["edges"], world = c.world();
  const int64_t fanouts[] = {c["first_fanout"], c["second_fanout"]};
  std::vector<const int32_t*> offsets, neighbours;
  for (int rank = 0; rank < world; ++rank) {
    offsets.push_back(c.input<int32_t>("offsets", rank).data());
    neighbours.push_back(c.input<int32_t>("neighbour", rank).data());
  }
  for (int rank = 0; rank < world; ++rank) {
    const uint32_t salt = c.input<uint32_t>("salt", rank)[0];
    const auto seed = c.input<int32_t>("seed", rank);
    Output counts = c.output("counts", rank), node = c.output("node", rank), row = c.output("row", rank);
    Output col = c.output("col", rank), edge = c.output("edge", rank);
    std::vector<int64_t> list(seed.begin(), seed.end()), local(static_cast<size_t>(world * nodes), -1);
    for (size_t i = 0; i < list.size(); ++i) local[static_cast<size_t>(list[i])] = static_cast<int64_t>(i);
    int64_t e = 0;
    size_t begin = 0;
    for (int hop = 0; hop < 2; ++hop) {
      const int64_t fanout = fanouts[hop];
      const size_t end = list.size();
      for (size_t i = begin; i < end; ++i) {
        const int64_t v = list[i];
        const auto owner = static_cast<size_t>(v / nodes);
        const int64_t first = offsets[owner][v % nodes], degree = offsets[owner][v % nodes + 1] - first;
        for (int64_t j = 0; j < std::min(degree, fanout); ++j) {
          int64_t position = j;
          if (degree > fanout) {
            const int64_t low = j * degree / fanout, high = (j + 1) * degree / fanout;
            position = low + mix(mix(salt + static_cast<uint32_t>(v)) + static_cast<uint32_t>(j)) % (high - low);
          }
          const int64_t sampled = neighbours[owner][first + position];
          int64_t& number = local[static_cast<size_t>(sampled)];
          if (number < 0) {
            number = static_cast<int64_t>(list.size());
            list.push_back(sampled);
          }
          row.set(e, static_cast<double>(number));
          col.set(e, static_cast<double>(i));
          edge.set(e, static_cast<double>(static_cast<int64_t>(owner) * edges + first + position));
          ++e;
        }
      }
      begin = end;
      counts.set(hop, static_cast<double>(list.size()));
      counts.set(2 + hop, static_cast<double>(e));
    }
    for (int64_t i = 0; i < node.size(); ++i)
      node.set(i, i < static_cast<int64_t>(list.size()) ? static_cast<double>(list[static_cast<size_t>(i)]) : -1.0);
    for (; e < row.size(); ++e) {
      row.set(e, -1);
      col.set(e, -1);
      edge.set(e, -1);
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
