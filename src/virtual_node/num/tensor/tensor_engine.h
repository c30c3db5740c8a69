#pragma once

// Products of small matrices as tensor cores make them. A multiplication of 16 × K by K × 8 elements is the unit of all
// instructions: mma.sync is one of them, wgmma and tcgen05.mma are many that share their factors.
//
// How an instruction adds. Values of the formats below and their products are exact in f32. Each element of the result
// has two sums in f32 that begin with zero; one takes the products of even k, the other those of odd k, in order of k,
// by fused multiply-add with rounding to nearest even and with subnormal numbers. Then d = c + (even + odd). Integers
// are exact in this order as in any other. (Hardware adds groups of products with a few more bits and truncates; the
// groups differ between generations and are not published. This order is the one of TDPBF16PS, which flushes subnormal
// numbers, however: it is used where none can occur.)
//
// Engines differ in speed alone: all give the same bits, except for the sign and payload of NaNs, which callers make
// canonical. The portable one is the specification.

#include <string_view>
#include <vector>

#include "virtual_node/num/tensor/engine.h"

namespace fb::num::tensor {

// The fastest that this CPU has, or the one that $FABRICBENCH_TENSOR names. The first call throws
// std::invalid_argument if there is none of that name here.
const Engine& engine();

// Those that this CPU can run, best first.
const std::vector<const Engine*>& engines();

// From now on; false if there is none of this name here. An empty name: the fastest.
bool use_engine(std::string_view name);

}  // namespace fb::num::tensor
