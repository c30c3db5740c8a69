#pragma once

// The mbarrier object of PTX: 64 bits of shared memory and nothing else, so that code may move it about, and so that
// waiting for it is reading it. Plain functions on the word; the instructions around them find and wake.
//
//   bit 63       phase (parity of the phases completed so far)
//   bits 61–62   kLive: an initialised object; memory that was never initialised reads as none
//   bits 41–60   expected arrivals of each phase
//   bits 21–40   pending arrivals of this phase
//   bits 0–20    tx-count, signed: bytes that asynchronous copies still owe this phase
//
// A phase completes when pending arrivals and tx-count are both zero. Then pending arrivals become the expected ones
// and the phase flips. The word before an arrival is the state which the arrival returns.

#include <cstdint>
#include <string_view>

namespace fb::simt {

struct Mbarrier {
  bool phase = false;
  uint32_t expected = 0;
  uint32_t pending = 0;
  int32_t tx = 0;

  friend bool operator==(const Mbarrier&, const Mbarrier&) = default;
};

inline constexpr uint32_t kMbarrierMaxCount = (1u << 20) - 1;
inline constexpr int32_t kMbarrierMaxTx = (1 << 20) - 1;

uint64_t encode(const Mbarrier& barrier);
Mbarrier decode_mbarrier(uint64_t word);
bool is_live_mbarrier(uint64_t word);

// What an operation did. `problem` is empty if it was legal; otherwise the barrier is as it was.
struct MbarrierResult {
  std::string_view problem;
  bool completed = false;  // a phase has ended
};

// An arrival of `count` threads. `drop`: they leave for good, so later phases expect fewer.
MbarrierResult arrive(Mbarrier& barrier, uint32_t count, bool drop = false);
// The same for .noComplete, which promises not to end the phase.
MbarrierResult arrive_no_complete(Mbarrier& barrier, uint32_t count, bool drop = false);
MbarrierResult expect_tx(Mbarrier& barrier, uint32_t bytes);
MbarrierResult complete_tx(Mbarrier& barrier, uint32_t bytes);
// One more pending arrival in this phase only (cp.async.mbarrier.arrive without .noinc).
MbarrierResult add_pending(Mbarrier& barrier);

// Pending arrivals before the arrival that returned `state`.
constexpr uint32_t pending_count(uint64_t state) { return static_cast<uint32_t>(state >> 21) & kMbarrierMaxCount; }
// The phase that `state` (returned by an arrival) belongs to has ended.
bool phase_ended(uint64_t word, uint64_t state);
// The phase of this parity, the current or the preceding one, has ended.
bool parity_ended(uint64_t word, uint32_t parity);

}  // namespace fb::simt
