#pragma once

// The explanation of a deadlock, of a machine::Device or of a whole node.

#include "machine/deadlock/wait_graph.h"
#include "machine/loaded_module.h"
#include "machine/outcome.h"

namespace fb::machine {

// What every resident warp of a grid waits for, and the cause.
Deadlock explain_deadlock(const GridRun& run, const LoadedModule& module, const mem::AddressSpace& memory);

// Builds the graph, finds the cause and describes both.
std::string explain(DeadlockSnapshot snapshot);

}  // namespace fb::machine
