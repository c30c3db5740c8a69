#pragma once

// The wait-for graph in words: the cause in the first line, then who waits for what, at most some forty lines.

#include <string>

#include "machine/deadlock/causes.h"

namespace fb::machine {

std::string describe(const WaitGraph& graph, const Finding& finding);

}  // namespace fb::machine
