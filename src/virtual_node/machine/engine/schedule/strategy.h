#pragma once

// How a seed orders a run. Each strategy reaches schedules that the others rarely reach; the rule from seed to strategy
// is a plain one, so that the seeds 1 to 20 are a fair mixture.

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/base/rng.h"
#include "virtual_node/simt/warp.h"

namespace fb::machine {

enum class Strategy : uint8_t {
  uniform,      // any ready warp may be next, for a quantum of any length
  priorities,   // PCT: the highest priority runs, and changes at a few synchronisation steps
  late_device,  // one device begins when the others can't go on, or have executed a drawn number of instructions
  straggler,    // one device gets a quantum in one of sixteen draws
  slow_link,    // copies and events of one device come last
};

// seed % 7: 1 uniform, 2 4 6 priorities, 3 late device, 5 straggler, 0 slow link.
Strategy strategy_of(uint64_t seed);
std::string_view to_string(Strategy strategy);

inline constexpr uint32_t kNoDevice = ~uint32_t{0};

// A drawn length: most quanta are short and some are long, 1 to 2^k with k drawn first.
inline uint64_t draw_quantum(Rng& rng) {
  constexpr uint64_t kLargestPower = 9;
  return 1 + rng.below(uint64_t{1} << rng.below(kLargestPower + 1));
}

// The slow part of a run: one of the devices in use, drawn from the seed. Where only one device is in use, a quarter of
// its blocks.
class SlowParty {
 public:
  explicit SlowParty(uint64_t seed) : seed_(seed) {}

  // Work has come for this device. Returns true if the choice of the slow device changed.
  bool use(uint32_t device);
  // kNoDevice: fewer than two are in use.
  uint32_t device() const { return used_.size() < 2 ? kNoDevice : slowest_; }
  bool contains(const simt::Warp& warp) const;

 private:
  uint64_t seed_;
  std::vector<uint32_t> used_;
  uint32_t slowest_ = kNoDevice;
};

}  // namespace fb::machine
