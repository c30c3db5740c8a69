#include <fabricbench/oracle.h>

#include <utility>
#include <vector>

using namespace fabricbench::oracle;

// Message m goes so many ranks further, on all ranks: each gets one message with every number. In every other call all
// go to the same rank, so that one sender has all slots.
void fill(Case& c) {
  const int64_t messages = c["messages"], most = c["most"];
  std::vector<uint32_t> lengths(static_cast<size_t>(messages));
  for (int64_t m = 0; m < messages; ++m)
    lengths[static_cast<size_t>(m)] = static_cast<uint32_t>(messages == 1 ? most : m * most / (messages - 1));
  for (int64_t m = messages - 1; m > 0; --m)
    std::swap(lengths[static_cast<size_t>(m)], lengths[static_cast<size_t>(c.random.below(m + 1))]);
  int64_t shift = 1 + c.random.below(c.world() - 1);
  for (int64_t m = 0; m < messages; ++m) {
    if (c.call() % 2 == 1) shift = 1 + c.random.below(c.world() - 1);
    for (int r = 0; r < c.world(); ++r) {
      uint32_t* const row = c.input<uint32_t>("plan", r).data() + 3 * m;
      row[0] = static_cast<uint32_t>(shift);
      row[1] = lengths[static_cast<size_t>(m)];
      row[2] = static_cast<uint32_t>(c.random.bits()) << 8 | static_cast<uint32_t>(m);
    }
  }
}

void expect(Case& c) {
  const int64_t messages = c["messages"], most = c["most"];
  for (int r = 0; r < c.world(); ++r) {
    Output out = c.output("out", r), report = c.output("report", r);
    for (int from = 0; from < c.world(); ++from) {
      const auto in = c.input<uint32_t>("in", from), plan = c.input<uint32_t>("plan", from);
      int before = 0;
      for (int64_t m = 0; m < messages; ++m) {
        const uint32_t* const row = plan.data() + 3 * m;
        if ((from + row[0]) % static_cast<uint32_t>(c.world()) != static_cast<uint32_t>(r)) continue;
        for (int64_t i = 0; i < most; ++i)
          out.set(m * most + i, i < row[1] ? in[static_cast<size_t>(m * most + i)] : 0);
        report.set(4 * m, from);
        report.set(4 * m + 1, 4 * row[1]);
        report.set(4 * m + 2, row[2]);
        report.set(4 * m + 3, before++);
      }
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
