#include <fabricbench/oracle.h>

#include <utility>

using namespace fabricbench::oracle;

// 0 to `most` words, evenly spread, in random order: every call moves the same number of words.
void fill(Case& c) {
  const int64_t messages = c["messages"], most = c["most"];
  for (int r = 0; r < c.world(); ++r) {
    const auto lengths = c.input<uint32_t>("lengths", r);
    for (int64_t m = 0; m < messages; ++m)
      lengths[static_cast<size_t>(m)] = static_cast<uint32_t>(messages == 1 ? most : m * most / (messages - 1));
    for (int64_t m = messages - 1; m > 0; --m)
      std::swap(lengths[static_cast<size_t>(m)], lengths[static_cast<size_t>(c.random.below(m + 1))]);
  }
}

void expect(Case& c) {
  const int64_t messages = c["messages"], most = c["most"];
  for (int r = 0; r < c.world(); ++r) {
    const int before = (r + c.world() - 1) % c.world();
    const auto in = c.input<uint32_t>("in", before), lengths = c.input<uint32_t>("lengths", before);
    Output out = c.output("out", r), report = c.output("report", r);
    for (int64_t m = 0; m < messages; ++m) {
      const uint32_t length = lengths[static_cast<size_t>(m)];
      for (int64_t i = 0; i < most; ++i) out.set(m * most + i, i < length ? in[static_cast<size_t>(m * most + i)] : 0);
      report.set(m, 4 * length);
    }
    report.set(messages, messages > c["slots"] ? 1 : 0);
  }
}

FABRICBENCH_ORACLE(expect, fill)
