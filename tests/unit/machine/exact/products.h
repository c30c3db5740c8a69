#pragma once

// Products of small matrices, by mma.sync, wgmma and tcgen05.mma, in drawn shapes, types and layouts, with what they
// must give: sums of small numbers, which are exact in every order of addition. Fragments, descriptors and layouts are
// read here as the manual draws them, element by element.

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/rng.h"

namespace fb::products {

// A kernel `k(in, out)` of one block, or of a cluster of two.
struct Product {
  std::string about;  // the instruction and its layouts
  std::string ptx;
  uint32_t threads = 32, shared_bytes = 0, blocks = 1;
  std::vector<uint32_t> in, out;
};

// `exact`: factors are small numbers; if not, they are any bits, and `out` says nothing but its size.
Product draw_mma(Rng& rng, bool exact);
Product draw_wgmma(Rng& rng, bool exact);
Product draw_tcgen05(Rng& rng, bool exact);
// Not a product: what a shape of tcgen05.ld or tcgen05.st moves, which is exact anyway.
Product draw_tensor_memory(Rng& rng, bool exact);
// What cp.async.bulk.tensor moves, or combines in the tensor.
Product draw_box(Rng& rng, bool exact);
// What ldmatrix and stmatrix move.
Product draw_matrix_rows(Rng& rng, bool exact);

// What the tests draw: products with seeds from 1 to `count`.
struct Drawn {
  const char* name;
  Product (*draw)(Rng&, bool exact);
  uint64_t count;
};
inline constexpr Drawn kDrawn[] = {{"mma", draw_mma, 200},          {"wgmma", draw_wgmma, 60},
                                   {"tcgen05", draw_tcgen05, 60},   {"tensor_memory", draw_tensor_memory, 120},
                                   {"tensor_boxes", draw_box, 200}, {"matrix_rows", draw_matrix_rows, 40}};
// Every third is of any bits, and compares the engines.
inline bool is_exact(uint64_t seed) { return seed % 3 != 0; }

}  // namespace fb::products
