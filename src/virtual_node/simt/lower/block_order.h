#pragma once

#include <cstdint>
#include <vector>

#include "virtual_node/simt/lower/flow.h"

namespace fb::simt {

// The order in which the basic blocks of a function are laid out. Of a warp's splits the one with the smallest pc runs,
// so a block in which branches join must lie behind them, or its lanes run on alone: compilers that place blocks by how
// often they run put it before some. The function's own order, unless it has such a block; then one in which every jump
// goes forward but those of loops, and a loop lies in one piece.
std::vector<uint32_t> block_order(const Flow& flow);

}  // namespace fb::simt
