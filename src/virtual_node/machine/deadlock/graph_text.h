#pragma once

// The wait-for graph as text: the cause in the first line, then every wait and its remaining writers, about forty lines
// at most.

#include <string>

#include "virtual_node/machine/deadlock/causes.h"

namespace fb::machine {

std::string describe(const WaitGraph& graph, const Finding& finding);

}  // namespace fb::machine
