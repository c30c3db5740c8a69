#include "virtual_node/machine/engine/poll_counter.h"

#include <algorithm>

namespace fb::machine {
namespace {

// What each warp is given before the others are taken to wait for a rank that is kept back; and before a wait is taken
// to be one that nothing ends: a counter of polls that ends a loop earlier than that does end it.
constexpr uint64_t kPollsOfWarp = 64, kVainPolls = 4'000'000, kVainPollsOfWarp = 16'000;
constexpr uint64_t kLikePolls = 1024;  // a query of a host

uint64_t vain_polls(uint64_t warps) { return kVainPolls + kVainPollsOfWarp * warps; }

}  // namespace

void PollCounter::note_host() {
  alone_ += kLikePolls;
  vain_ += kLikePolls;
}

void PollCounter::note_time(uint64_t warps) {
  alone_ = 0;
  vain_ = vain_polls(warps) - std::min(vain_polls(warps), kFirstReport + kPollsOfWarp * warps);
  next_report_ = kFirstReport;
}

bool PollCounter::take_report(uint64_t warps) {
  if (!is_report_due()) return false;
  const uint64_t enough = kFirstReport + kPollsOfWarp * warps;
  const bool first = next_report_ == kFirstReport;
  if (first && alone_ < enough) {
    next_report_ = enough;
    return false;
  }
  next_report_ = alone_ * 2;
  return true;
}

bool PollCounter::alone() const { return alone_ >= kLikePolls; }

bool PollCounter::may_be_in_vain() const { return vain_ >= kVainPolls; }

bool PollCounter::in_vain(uint64_t warps) const { return vain_ >= vain_polls(warps); }

}  // namespace fb::machine
