#pragma once

// How a seed orders a run. Each strategy brings about what the others rarely show; which one a seed stands for is a
// plain rule, so that the seeds 1 to 20 are a fair mixture.

#include <cstdint>
#include <string_view>
#include <vector>

#include "simt/warp.h"

namespace fb::machine {

enum class Strategy : uint8_t {
  uniform,      // everybody who can run may be next, for a turn of any length
  priorities,   // PCT: the highest priority runs, and changes at a few synchronisation steps
  late_device,  // one device begins when the others can't go on, or have done a lot
  straggler,    // one device gets a turn in one of sixteen draws
  slow_link,    // what copies and events of one device do comes last
};

// seed % 7: 1 uniform, 2 4 6 priorities, 3 late device, 5 straggler, 0 slow link.
Strategy strategy_of(uint64_t seed);
std::string_view to_string(Strategy strategy);

inline constexpr uint32_t kNoDevice = ~uint32_t{0};

// Who is the slow one of a run: one of the devices that are in use, drawn from the seed. Where only one is in use, one
// of four of its blocks takes the part.
class SlowParty {
 public:
  explicit SlowParty(uint64_t seed) : seed_(seed) {}

  // Work has come for this device. True: others are slow now than were before.
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
