#pragma once

// How a launch ended: plain records, printed by report.cpp.

#include <cstdint>
#include <string>
#include <vector>

#include "simt/block.h"
#include "simt/trap.h"

namespace fb::machine {

// A place in guest code. `file` and `line` are CUDA C++ where the PTX says so; ptx_line always.
struct CodePlace {
  std::string kernel;
  std::string function;  // the same as kernel unless it is a called function
  std::string file;
  uint32_t line = 0;
  uint32_t ptx_line = 0;
  std::string text;  // the instruction
};

struct Fault {
  simt::TrapKind kind{};
  std::string message;
  CodePlace place;
  simt::Dim3 block, thread;
  uint64_t address = 0;
  uint32_t bytes = 0;
};

// One group of threads that can't go on.
struct Waiter {
  CodePlace place;
  uint64_t block = 0;  // linear
  uint32_t warp = 0;
  simt::Mask lanes = 0;
  std::string reason;  // "barrier 0 (…)", "lanes …", "memory to change"
  struct Seen {
    uint64_t address = 0;
    uint32_t bytes = 0;
    uint64_t value = 0;
    std::string where;  // the allocation
  };
  std::vector<Seen> seen;
};

struct Deadlock {
  std::string kernel;
  std::vector<Waiter> waiters;  // the first of them
  uint64_t waiting_threads = 0;
  uint64_t resident_blocks = 0;
  uint64_t finished_blocks = 0;
  uint64_t unstarted_blocks = 0;  // have no room on the device
};

enum class Ending : uint8_t { finished, fault, deadlock, budget };

struct Outcome {
  Ending ending = Ending::finished;
  uint64_t instructions = 0;  // of warps
  Fault fault;
  Deadlock deadlock;
};

std::string describe(const Fault& fault);
std::string describe(const Deadlock& deadlock);
// One paragraph for people; empty when finished.
std::string describe(const Outcome& outcome);

}  // namespace fb::machine
