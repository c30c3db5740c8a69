#include <fabricbench/oracle.h>

#include <algorithm>
#include <bit>

using namespace fabricbench::oracle;

constexpr int kRounds = 4;

// A message is lost with a probability of 1/4, 1/4, 1/2 and 1/4.
void fill(Case& c) {
  for (int r = 0; r < c.world(); ++r) {
    const auto lost = c.input<uint32_t>("lost", r);
    for (uint32_t& mask : lost) mask = static_cast<uint32_t>(c.random.bits() & c.random.bits());
    lost[2] |= static_cast<uint32_t>(c.random.bits() & c.random.bits());
  }
}

void expect(Case& c) {
  const int64_t n = c["n"], messages = (n + c["chunk"] - 1) / c["chunk"], slots = c["slots"];
  for (int r = 0; r < c.world(); ++r) {
    const auto in = c.input<uint32_t>("in", (r + c.world() - 1) % c.world());
    Output out = c.output("out", r);
    for (int64_t i = 0; i < n; ++i) out.set(i, in[static_cast<size_t>(i)]);

    Output answers = c.output("answers", r);
    const auto all = static_cast<uint32_t>((uint64_t{1} << messages) - 1);
    uint32_t missing = all;
    for (int k = 0; k < kRounds; ++k) {
      // One receive is for the end of the round; a late message and a double one may take two.
      int64_t room = slots - 1;
      if (slots >= 4 && c.call() > 0) --room;
      if (slots >= 4 && missing != all) --room;
      uint32_t rest = missing;
      for (; rest != 0 && room > 0; --room) {
        const uint32_t message = rest & -rest;
        rest ^= message;
        if ((c.input<uint32_t>("lost", r)[static_cast<size_t>(k)] & message) == 0) missing ^= message;
      }
      answers.set(k, missing);
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
