#include <fabricbench/oracle.h>

#include <vector>

using namespace fabricbench::oracle;

namespace {

constexpr int kSlots = 8;
constexpr int64_t kSegment = 16;

struct Request {
  int slot;
  int64_t bytes, alignment;
};
struct Phase {
  std::vector<int> frees;  // slots; first
  std::vector<Request> allocations;
};

// As in driver.cu.
std::vector<Phase> make_phases(uint64_t seed, int64_t heap, int64_t count) {
  const auto below = [&seed](int64_t n) {
    uint64_t z = (seed += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return static_cast<int64_t>((z ^ (z >> 31)) % static_cast<uint64_t>(n));
  };
  std::vector<Phase> phases(static_cast<size_t>(count));
  int64_t live[kSlots] = {};  // bytes, rounded up to 256
  int64_t total = 0;
  const auto free = [&](Phase& phase, int slot) {
    if (live[slot] == 0) return;
    phase.frees.push_back(slot);
    total -= live[slot];
    live[slot] = 0;
  };
  const auto allocate = [&](Phase& phase, int slot, int64_t bytes, int64_t alignment) {
    phase.allocations.push_back({slot, bytes, alignment});
    const int64_t rounded = (bytes + 255) / 256 * 256;
    if (rounded > heap - total) return;  // to be refused
    live[slot] = rounded;
    total += rounded;
  };
  const int64_t eighth = heap / kSlots;
  for (int64_t p = 0; p < count; ++p) {
    Phase& phase = phases[static_cast<size_t>(p)];
    const auto chosen = static_cast<int>(below(kSlots));
    if (p == 0) {  // to the brim
      for (int slot = 0; slot < kSlots; ++slot) allocate(phase, slot, eighth, 256);
    } else if (p == 1) {  // a hole, and a block that is too large for it
      free(phase, chosen);
      allocate(phase, chosen, eighth + 1, 16);
    } else if (p == 2) {  // a block that fits
      for (int slot = 0; slot < kSlots; ++slot) {
        if (live[slot] == 0) allocate(phase, slot, eighth - below(16), 16);
      }
    } else if (p == 3 || p == count - 1) {  // the whole heap, and not a byte more
      for (int slot = 0; slot < kSlots; ++slot) free(phase, slot);
      allocate(phase, chosen, heap, 256);
      allocate(phase, (chosen + 1) % kSlots, 1 + below(256), 16);
    } else {
      for (int slot = 0; slot < kSlots; ++slot) {
        if (p == 4 || below(3) == 0) free(phase, slot);
      }
      for (int slot = 0; slot < kSlots; ++slot) {
        int64_t most = heap / 16;
        for (int64_t halve = below(6); halve > 0; --halve) most /= 2;
        const int64_t bytes = 1 + below(most), alignment = int64_t{16} << below(5);
        if (live[slot] == 0 && below(4) != 0 && total + (bytes + 255) / 256 * 256 <= heap / 4) {
          allocate(phase, slot, bytes, alignment);
        }
      }
    }
  }
  return phases;
}

}  // namespace

// What driver.cu computes over a heap that gives and refuses what it must. Contents do not depend on where blocks lie.
void expect(Case& c) {
  const int64_t heap = c["heap"], phases = c["phases"], world = c.world(), words = heap / 4;
  uint32_t seed = 0;
  for (int r = 0; r < c.world(); ++r) seed += c.input<uint32_t>("in", r)[0] * static_cast<uint32_t>(2 * r + 1);
  const std::vector<Phase> plan = make_phases(seed, heap, phases);
  std::vector<const uint32_t*> in;
  for (int r = 0; r < c.world(); ++r) in.push_back(c.input<uint32_t>("in", r).data());

  for (int r = 0; r < c.world(); ++r) {
    Output out = c.output("out", r);
    uint32_t digests[kSlots] = {};
    int64_t live[kSlots] = {}, total = 0, number = 0;  // live: bytes, rounded up to 256
    for (int64_t p = 0; p < phases; ++p) {
      const Phase& phase = plan[static_cast<size_t>(p)];
      for (const int slot : phase.frees) {
        total -= live[slot];
        live[slot] = 0;
      }
      for (const Request& request : phase.allocations) {
        const int64_t first = ++number * 977, rounded = (request.bytes + 255) / 256 * 256;
        if (total + rounded > heap) continue;
        live[request.slot] = rounded;
        total += rounded;
        auto digest = static_cast<uint32_t>(request.bytes);
        for (int64_t word = 0, from = first % words; word * 4 < request.bytes; ++word) {
          uint32_t value = in[static_cast<size_t>((r + 1 + word / kSegment % (world - 1)) % world)][from];
          if (++from == words) from = 0;
          if (const int64_t left = request.bytes - word * 4; left < 4) value &= (1u << (8 * left)) - 1;
          digest += value * (static_cast<uint32_t>(word) * 0x9E3779B1u | 1u);
        }
        digests[request.slot] = digest;
      }
      for (int slot = 0; slot < kSlots; ++slot) out.set(p * kSlots + slot, digests[slot]);
    }
  }
}

FABRICBENCH_ORACLE(expect)
