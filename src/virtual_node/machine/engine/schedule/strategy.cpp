#include "virtual_node/machine/engine/schedule/strategy.h"

#include <algorithm>

#include "common/base/rng.h"
#include "virtual_node/simt/block.h"

namespace fb::machine {
namespace {

uint64_t draw(uint64_t seed, uint64_t number) { return Rng(seed ^ (number + 1) * 0x9E3779B97F4A7C15u).next(); }

}  // namespace

// An odd number of cases: seeds of one parity cover all of them, too.
Strategy strategy_of(uint64_t seed) {
  switch (seed % 7) {
    case 0:
      return Strategy::slow_link;
    case 1:
      return Strategy::uniform;
    case 3:
      return Strategy::late_device;
    case 5:
      return Strategy::straggler;
    default:
      return Strategy::priorities;
  }
}

std::string_view to_string(Strategy strategy) {
  switch (strategy) {
    case Strategy::uniform:
      return "uniform";
    case Strategy::priorities:
      return "priorities";
    case Strategy::late_device:
      return "late device";
    case Strategy::straggler:
      return "straggler";
    case Strategy::slow_link:
      return "slow link";
  }
  return "";
}

bool SlowParty::use(uint32_t device) {
  if (std::ranges::find(used_, device) != used_.end()) return false;
  const uint32_t before = this->device();
  used_.push_back(device);
  slowest_ = *std::ranges::min_element(used_, {}, [&](uint32_t d) { return draw(seed_, d); });
  return before != this->device();
}

bool SlowParty::contains(const simt::Warp& warp) const {
  const simt::Block& block = warp.block();
  if (used_.size() >= 2) return block.device == slowest_;
  return draw(~seed_, block.index()) % 4 == 0;
}

}  // namespace fb::machine
