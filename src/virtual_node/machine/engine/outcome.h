#pragma once

// How a launch ended: plain records.

#include <cstdint>
#include <string>

#include "virtual_node/simt/block.h"
#include "virtual_node/simt/source_location.h"
#include "virtual_node/simt/trap.h"

namespace fb::machine {

struct Fault {
  simt::TrapKind kind{};
  std::string message;
  simt::SourceLocation location;
  simt::Dim3 block, thread;
  uint64_t address = 0;
  uint32_t bytes = 0;
};

struct Deadlock {
  std::string text;  // the cause, and the wait-for graph (deadlock/graph_text.h)
  uint64_t waiting_threads = 0;
  uint64_t resident_blocks = 0;
  uint64_t finished_blocks = 0;
  uint64_t unstarted_blocks = 0;  // for lack of room on the device
};

enum class Ending : uint8_t { finished, fault, deadlock, budget };

struct Outcome {
  Ending ending = Ending::finished;
  uint64_t instructions = 0;  // of warps
  Fault fault;
  Deadlock deadlock;
};

std::string describe(const Fault& fault);
// One paragraph for people; empty when finished.
std::string describe(const Outcome& outcome);

}  // namespace fb::machine
