#pragma once

// The cause of a deadlock, by rules about the wait-for graph, the most specific first.

#include <string>
#include <string_view>

#include "virtual_node/machine/deadlock/finding.h"
#include "virtual_node/machine/deadlock/wait_graph.h"

namespace fb::machine {

std::string_view to_string(Cause cause);

Finding find_cause(const WaitGraph& graph);

// "rank 0, device 0, kernel f(int*), block 3, warp 0".
std::string name_of(const WaitGraph& graph, const Wait& wait);

}  // namespace fb::machine
