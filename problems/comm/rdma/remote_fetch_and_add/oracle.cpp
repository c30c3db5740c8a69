#include <fabricbench/oracle.h>

#include <vector>

using namespace fabricbench::oracle;

namespace {

constexpr uint32_t kMostRows = 4;  // of one append, as in driver.cu

uint32_t digest(const uint32_t* item, int64_t words) {
  uint32_t sum = 0;
  for (int64_t w = 1; w < words; ++w) sum += item[w] * (static_cast<uint32_t>(w) * 0x9E3779B1u | 1u);
  return sum;
}

}  // namespace

void fill(Case& c) {
  const int64_t items = c["items"], words = c["words"];
  for (int r = 0; r < c.world(); ++r) {
    const auto in = c.input<uint32_t>("in", r);
    for (int64_t i = 0; i < items; ++i) in[static_cast<size_t>(i * words)] = static_cast<uint32_t>(r * items + i);
  }
}

// What driver.cu asks for. Which place an item has does not matter.
void expect(Case& c) {
  const int64_t items = c["items"], words = c["words"], world = c.world();
  std::vector<std::vector<uint32_t>> digests(static_cast<size_t>(world),
                                             std::vector<uint32_t>(static_cast<size_t>(world * items + world)));
  std::vector<int64_t> taken(static_cast<size_t>(world));
  for (int64_t r = 0; r < world; ++r) {
    const uint32_t* const in = c.input<uint32_t>("in", static_cast<int>(r)).data();
    int64_t count = 0;
    for (int64_t i = 0; i < items; i += count) {
      const uint32_t control = in[i * words + 1];
      const auto owner = static_cast<size_t>((r + 1 + control / kMostRows % (world - 1)) % world);
      count = std::min<int64_t>(items - i, 1 + control % kMostRows);
      taken[owner] += count;
      for (int64_t k = i; k < i + count; ++k)
        digests[owner][static_cast<size_t>(r * items + k)] = digest(in + k * words, words);
    }
    // The rival takes one place in the log of the next rank, for a copy of the first row with a number of its own.
    const auto next = static_cast<size_t>((r + 1) % world);
    digests[next][static_cast<size_t>(world * items + r)] = digest(in, words);
    ++taken[next];
  }
  for (int r = 0; r < c.world(); ++r) {
    Output out = c.output("out", r);
    const auto& mine = digests[static_cast<size_t>(r)];
    for (size_t i = 0; i < mine.size(); ++i) out.set(static_cast<int64_t>(i), mine[i]);
    c.output("taken", r).set(0, static_cast<double>(taken[static_cast<size_t>(r)]));
  }
}

FABRICBENCH_ORACLE(expect, fill)
