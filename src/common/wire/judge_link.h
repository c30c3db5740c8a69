#pragma once

// The judge's end of its connection with the machine: steps as calls (harness.h says what they mean). Each blocks until
// the machine has answered.

#include <cstdint>
#include <expected>
#include <span>
#include <vector>

#include "common/wire/channel.h"
#include "common/wire/harness.h"

namespace fb::wire {

struct StepResult {
  uint64_t begin = 0, drained = 0;         // virtual picoseconds
  uint32_t faults = 0, late_requests = 0;  // so far
  uint32_t calls = 0;
  GroupShares shares = {};                  // of `drained`
  std::vector<CallTimes> times = {};        // ranks × calls, by rank
  std::vector<DeviceTraffic> traffic = {};  // by device
  std::vector<uint32_t> words = {};         // frequent ones in the memory of the candidate

  const CallTimes& of(uint32_t rank, uint32_t call) const { return times[size_t{rank} * calls + call]; }
};

class JudgeLink {
 public:
  // Status::unknown: the machine has ended; its record says why. Any other is a mistake of the caller's.
  template <class T>
  using Answered = std::expected<T, Status>;

  // `socket`: the other end of the one that the machine was given as --judge.
  JudgeLink(UniqueFd socket, uint32_t ranks) : channel_(std::move(socket)), ranks_(ranks) {}

  uint32_t ranks() const { return ranks_; }
  bool lost() const { return !channel_; }
  // Another thread may end a call that waits: it returns Status::unknown.
  void interrupt();

  // Waits until all ranks have come. `arena`: shared memory (memfd) of `bytes`; stays the caller's.
  Answered<void> begin(int arena, uint64_t bytes);

  // Address in the rank's process. Contents are those of fresh memory. `device` -1: the one that the rank has chosen.
  Answered<uint64_t> make_tensor(uint32_t rank, uint64_t bytes, int32_t device = -1);
  Answered<void> release(uint32_t rank, uint64_t address);

  // `words`: the fields of Args of all ranks, one rank after the other.
  Answered<StepResult> construct(std::span<const uint64_t> words, const StepOrder& order = {});
  Answered<StepResult> run(std::span<const Transfer> transfers, uint32_t calls, uint32_t first_call,
                           const StepOrder& order = {});
  Answered<StepResult> destroy(const StepOrder& order = {});
  // Ends the ranks; answered at once.
  Answered<void> leave();

 private:
  Answered<StepResult> step(StepKind kind, uint32_t calls, uint32_t first_call, const StepOrder& order,
                            std::span<const std::byte> blob);

  Channel channel_;
  uint32_t ranks_ = 0;
};

}  // namespace fb::wire
