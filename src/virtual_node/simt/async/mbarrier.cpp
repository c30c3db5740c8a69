#include "virtual_node/simt/async/mbarrier.h"

namespace fb::simt {
namespace {

constexpr uint64_t kLive = 0b10;
constexpr int kPhaseBit = 63, kLiveBit = 61, kExpectedBit = 41, kPendingBit = 21;
constexpr uint64_t kTxMask = (1u << 21) - 1;

MbarrierResult end_phase_if_done(Mbarrier& b) {
  if (b.pending != 0 || b.tx != 0) return {};
  b.pending = b.expected;
  b.phase = !b.phase;
  return {{}, true};
}

std::string_view arrival_problem(const Mbarrier& b, uint32_t count) {
  if (count == 0 || count > kMbarrierMaxCount) return "the arrival count must be 1 to 2^20 - 1";
  if (count > b.pending) return "more arrivals than this phase still expects";
  return {};
}

void subtract(Mbarrier& b, uint32_t count, bool drop) {
  b.pending -= count;
  if (drop) b.expected -= count;
}

MbarrierResult change_tx(Mbarrier& b, int64_t by) {
  const int64_t tx = b.tx + by;
  if (tx > kMbarrierMaxTx || tx < -kMbarrierMaxTx) return {"the tx-count leaves its range of ±(2^20 - 1)"};
  b.tx = static_cast<int32_t>(tx);
  return {};
}

}  // namespace

uint64_t encode(const Mbarrier& b) {
  return static_cast<uint64_t>(b.phase) << kPhaseBit | kLive << kLiveBit |
         static_cast<uint64_t>(b.expected) << kExpectedBit | static_cast<uint64_t>(b.pending) << kPendingBit |
         (static_cast<uint64_t>(static_cast<int64_t>(b.tx)) & kTxMask);
}

Mbarrier decode_mbarrier(uint64_t word) {
  Mbarrier b;
  b.phase = (word >> kPhaseBit) != 0;
  b.expected = static_cast<uint32_t>(word >> kExpectedBit) & kMbarrierMaxCount;
  b.pending = pending_count(word);
  // The shifts bring the sign bit to the top and back.
  b.tx = static_cast<int32_t>(static_cast<uint32_t>(word & kTxMask) << 11) >> 11;
  return b;
}

bool is_live_mbarrier(uint64_t word) { return (word >> kLiveBit & 3) == kLive; }

MbarrierResult arrive(Mbarrier& b, uint32_t count, bool drop) {
  if (const auto problem = arrival_problem(b, count); !problem.empty()) return {problem};
  if (drop && count > b.expected) return {"more threads drop out than later phases expect"};
  subtract(b, count, drop);
  return end_phase_if_done(b);
}

MbarrierResult arrive_no_complete(Mbarrier& b, uint32_t count, bool drop) {
  if (const auto problem = arrival_problem(b, count); !problem.empty()) return {problem};
  if (drop && count > b.expected) return {"more threads drop out than later phases expect"};
  if (count == b.pending && b.tx == 0) return {"an arrival with .noComplete would end the phase"};
  subtract(b, count, drop);
  return {};
}

MbarrierResult expect_tx(Mbarrier& b, uint32_t bytes) { return change_tx(b, bytes); }

MbarrierResult complete_tx(Mbarrier& b, uint32_t bytes) {
  if (const auto r = change_tx(b, -static_cast<int64_t>(bytes)); !r.problem.empty()) return r;
  return end_phase_if_done(b);
}

MbarrierResult add_pending(Mbarrier& b) {
  if (b.pending == kMbarrierMaxCount) return {"more than 2^20 - 1 pending arrivals"};
  ++b.pending;
  return {};
}

bool phase_ended(uint64_t word, uint64_t state) { return ((word ^ state) >> kPhaseBit) != 0; }

bool parity_ended(uint64_t word, uint32_t parity) { return (word >> kPhaseBit) != (parity & 1); }

}  // namespace fb::simt
