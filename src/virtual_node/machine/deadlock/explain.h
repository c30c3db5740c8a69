#pragma once

// The explanation of a deadlock, of a machine::Device or of a whole node.

#include "virtual_node/machine/deadlock/wait_graph.h"
#include "virtual_node/machine/engine/loaded_module.h"
#include "virtual_node/machine/engine/outcome.h"

namespace fb::machine {

// What every resident warp of a grid waits for, and the cause.
Deadlock explain_deadlock(const GridRun& run, const LoadedModule& module, const mem::AddressSpace& memory);

// Builds the graph, finds the cause and describes both.
std::string explain(DeadlockSnapshot snapshot);

}  // namespace fb::machine
