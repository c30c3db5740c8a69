#pragma once

// The family: the classical shapes of communication with every combination of order, scope, placement, fence and proxy.

#include <vector>

#include "litmus/program.h"

namespace fb::litmus {

// No two are equal.
std::vector<Program> generate();

}  // namespace fb::litmus
