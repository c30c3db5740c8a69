#include <fabricbench/oracle.h>

using namespace fabricbench::oracle;

// Drawn evenly at timed sizes (`chunk` a multiple of 32); elsewhere one node of each rank is a quarter of all.
void fill(Case& c) {
  const int64_t nodes = c["nodes"], chunk = c["chunk"];
  for (int rank = 0; rank < c.world(); ++rank) {
    const int64_t popular = c.random.below(nodes);
    for (int32_t& id : c.input<int32_t>("id", rank))
      id = static_cast<int32_t>(chunk % 32 != 0 && c.random.below(4) == 0 ? popular : c.random.below(nodes));
  }
}

void expect(Case& c) {
  const int64_t chunk = c["chunk"], width = c["width"];
  const int world = c.world();
  for (int source = 0; source < world; ++source) {
    const auto id = c.input<int32_t>("id", source);
    const auto feature = c.input<bf16>("feature", source);
    for (int k = 0; k < world; ++k) {
      Output out = c.output("out", (source + k) % world);
      int64_t to = (world - k) % world * chunk * width;
      for (const int32_t node : id.subspan(static_cast<size_t>(k * chunk), static_cast<size_t>(chunk))) {
        const bf16* row = &feature[static_cast<size_t>(node * width)];
        for (int64_t i = 0; i < width; ++i) out.set(to++, row[i]);
      }
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
