#pragma once

// Products of small matrices, by mma.sync, wgmma and tcgen05.mma, in drawn shapes, types and layouts, with what they
// must give: sums of small numbers, which are exact in every order of addition. Fragments, descriptors and layouts are
// read here as the manual draws them, element by element.

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/rng.h"

namespace fb::products {

// A kernel `k(in, out)` of one block.
struct Product {
  std::string about;  // the instruction and its layouts
  std::string ptx;
  uint32_t threads = 32, shared_bytes = 0;
  std::vector<uint32_t> in, out;
};

// `exact`: factors are small numbers; if not, they are any bits, and `out` says nothing but its size.
Product draw_mma(Rng& rng, bool exact);
Product draw_wgmma(Rng& rng, bool exact);
Product draw_tcgen05(Rng& rng, bool exact);

}  // namespace fb::products
