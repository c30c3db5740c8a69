#include <fabricbench/oracle.h>

#include <numeric>
#include <span>
#include <utility>
#include <vector>

using namespace fabricbench::oracle;

// A random permutation without fixed points.
void fill(Case& c) {
  const auto world = static_cast<size_t>(c.world());
  std::vector<int32_t> to(world);
  const auto someone_stays = [&] {
    for (size_t r = 0; r < world; ++r) {
      if (to[r] == static_cast<int32_t>(r)) return true;
    }
    return false;
  };
  do {
    std::iota(to.begin(), to.end(), 0);
    for (size_t k = world; k > 1; --k)
      std::swap(to[k - 1], to[static_cast<size_t>(c.random.below(static_cast<int64_t>(k)))]);
  } while (someone_stays());
  for (size_t r = 0; r < world; ++r) c.input<int32_t>("to", static_cast<int>(r))[0] = to[r];
}

// The rank that sends to `receiver`; -1 if `to` is no permutation and no rank does.
int sender_to(Case& c, int receiver) {
  for (int r = 0; r < c.world(); ++r) {
    if (c.input<int32_t>("to", r)[0] == receiver) return r;
  }
  return -1;
}

// What came, or anything if nothing did.
void deliver(Output out, std::span<const uint32_t> message, bool came) {
  for (int64_t i = 0; i < out.size(); ++i) {
    came ? out.set(i, message[static_cast<size_t>(i)]) : out.ignore(i);
  }
}

void expect(Case& c) {
  for (int r = 0; r < c.world(); ++r) {
    const int found = sender_to(c, r), sender = found < 0 ? r : found;
    deliver(c.output("out", r), c.input<uint32_t>("in", sender), found >= 0);
    deliver(c.output("seen", r), c.input<uint32_t>("tags", sender), found >= 0);
  }
}

FABRICBENCH_ORACLE(expect, fill)
