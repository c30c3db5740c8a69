#pragma once

// How a judge drives the machine, and how ranks get their steps.
//
// A rank of a judged run does nothing by itself: it asks for its next step, executes it, and asks again. The judge
// sends the steps over its own connection, a socket that the machine inherits; no rank can open one.
// Tensors are device memory that the judge makes for a rank. Their contents travel through an arena: shared memory that
// judge and machine have mapped and no rank has.
//
// Between steps ranks are frozen: requests of their threads are not read until the next step begins, and are counted.

#include <array>
#include <cstdint>

namespace fb::wire {

// Of a rank

enum class StepKind : uint32_t {
  none,
  construct,  // set up an instance; blob: the fields of Args, 8 bytes each
  run,        // one call; asking for the next step says that run() has returned, and not that its work has ended
  destroy,
  leave,  // end the process
};

// What is said of the step before; zero in the first request of a process.
struct StepNext {
  uint64_t stream = 0;  // that run() was given: a handle of the process
  uint32_t device = 0;
  static constexpr uint32_t kThrew = 1, kThrewBadAlloc = 2;
  uint32_t failed = 0;  // 0, kThrew: an exception was thrown, or kThrewBadAlloc; blob: its text
};

struct StepReady {
  StepKind kind = StepKind::none;
  uint32_t call = 0;  // of a run: 0 is the first of the instance
};

// Blob: this rank's bytes, as many as every other rank's. Blob of the reply: those of all ranks, in order. All ranks
// must call it. Refused (not_permitted) while a run step is under way.
struct Exchange {
  uint64_t zero = 0;
};

// `root` sends a descriptor that physical_export made, the others send none; the replies carry one that stands for the
// same memory. Any other descriptor is refused: ranks share nothing but what the machine knows.
struct ExchangeDescriptor {
  uint32_t root = 0;
  uint32_t zero = 0;
};

// Of the judge

// Answered when all ranks have asked for their first step. The request carries the arena's descriptor.
struct JudgeBegin {
  uint64_t arena_bytes = 0;
};

// Device memory of a rank.
struct JudgeTensor {
  uint32_t rank = 0;
  int32_t device = -1;  // of its node; -1: the one it has chosen (StepNext::device)
  uint64_t bytes = 0;
};
struct JudgeFree {
  uint32_t rank = 0;
  uint32_t zero = 0;
  uint64_t address = 0;
};

// Blob of construct: `ranks` times the fields of Args (all of the same length). Blob of run: Transfers, in any order.
// Run makes `calls` calls back to back: a rank's call c + 1 begins on its own host as soon as c has returned, without
// waiting for other ranks. In the order of the rank's stream, after the work of call c: the stores of c, then the loads
// of c + 1. The loads of the first call happen before the step begins, at the same moment for all ranks.
//
// Answered when all ranks have asked for their next step, no work of theirs is left and their threads wait. If that
// can't happen it is a deadlock, and the machine ends (the judge's socket closes; the record says why).
//
// The order of events can differ from step to step, so that no step tells what the next one will be like.
enum class StepSchedule : uint32_t {
  of_run,   // as the options of the run say
  by_time,  // by virtual time
  drawn,    // at random
};
struct StepOrder {
  StepSchedule schedule = StepSchedule::of_run;
  uint32_t wants_shares = 0;  // 1: the reply says what the times are made of
  // Of everything that is drawn: the order; which calls begin late; which blocks begin late, and which stores arrive
  // late (where races are looked for). 0 by virtual time: nothing is drawn, and times count.
  uint64_t seed = 0;
};
struct JudgeStep {
  StepKind kind = StepKind::none;
  uint32_t calls = 1;
  uint32_t first_call = 0;  // number of the first one
  uint32_t ranks = 0;       // as a check: of the run
  StepOrder order = {};
};
enum class Direction : uint32_t { load, store };  // arena → tensor, tensor → arena
struct Transfer {
  uint32_t rank = 0;
  uint32_t call = 0;  // within the step
  Direction direction = Direction::load;
  uint32_t zero = 0;
  uint64_t address = 0, bytes = 0;
  uint64_t arena_offset = 0;
};

// Picoseconds of a time that scale with a group of the platform's constants, by its number (common/platform/group.h).
// All 0: not wanted, or not known.
using GroupShares = std::array<int64_t, 5>;

// Virtual picoseconds. Blob of the reply: ranks × calls times CallTimes, by rank; then `devices` times DeviceTraffic;
// then `words` words of 32 bits that stand in the memory of the candidate.
struct JudgeStepDone {
  uint64_t begin = 0;
  uint64_t drained = 0;        // nothing is left to do
  uint32_t faults = 0;         // of kernels, so far; the record has their texts
  uint32_t late_requests = 0;  // so far: sent by a rank between steps
  uint32_t devices = 0;        // of the platform
  uint32_t words = 0;
  GroupShares shares = {};  // of `drained`, since `begin`
};
struct CallTimes {
  uint64_t begun = 0;       // the rank was answered with the step
  uint64_t returned = 0;    // run() has returned
  uint64_t ended = 0;       // its stream has reached the end of the call
  uint64_t drained = 0;     // everything that the rank had enqueued when run() returned has ended, on all its streams
  GroupShares shares = {};  // of the later of `returned` and `drained`, since the step has begun
};
// Bytes that moved during the step: to and from other devices, of its memory, to and from the host; payload of messages
// of a network card, card k at device k modulo their number. Transfers of the harness are not included.
struct DeviceTraffic {
  uint64_t peer_out = 0, peer_in = 0;
  uint64_t memory = 0;
  uint64_t to_host = 0, from_host = 0;
  uint64_t network_out = 0, network_in = 0;
};

}  // namespace fb::wire
