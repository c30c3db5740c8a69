#pragma once

// A deadlock of one device by itself (machine/device.h). Of a whole node: Node::explain_deadlock().

#include "machine/deadlock/wait_graph.h"
#include "machine/loaded_module.h"
#include "machine/outcome.h"

namespace fb::machine {

// What every resident warp of a grid waits for, and why it will wait for ever.
Deadlock explain_deadlock(const GridRun& run, const LoadedModule& module, const mem::AddressSpace& memory);

// The graph, its cause and its words.
std::string explain(Standstill standstill);

}  // namespace fb::machine
