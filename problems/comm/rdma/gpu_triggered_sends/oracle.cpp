#include <fabricbench/oracle.h>

#include <vector>

using namespace fabricbench::oracle;

void expect(Case& c) {
  const int world = c.world();
  const int64_t tiles = c["channels"] * c["words"], steps = c["steps"];
  // What has come to each rank in the step before.
  std::vector<std::vector<uint32_t>> came(static_cast<size_t>(world),
                                          std::vector<uint32_t>(static_cast<size_t>(tiles), 0));
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<std::vector<uint32_t>> sent = came;
    for (int r = 0; r < world; ++r) {
      const auto in = c.input<uint32_t>("in", r);
      auto& mine = sent[static_cast<size_t>(r)];
      for (size_t i = 0; i < mine.size(); ++i) mine[i] = in[static_cast<size_t>(step * tiles) + i] + 31 * mine[i];
    }
    for (int r = 0; r < world; ++r) {
      came[static_cast<size_t>((r + 1) % world)] = sent[static_cast<size_t>(r)];
    }
    for (int r = 0; r < world; ++r) {
      Output out = c.output("out", r);
      for (int64_t i = 0; i < tiles; ++i)
        out.set(step * tiles + i, came[static_cast<size_t>(r)][static_cast<size_t>(i)]);
    }
  }
}

FABRICBENCH_ORACLE(expect)
