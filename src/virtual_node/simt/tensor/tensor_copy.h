#pragma once

// A box of a tensor and its image in shared memory, row by row. A row is what is contiguous in both: the box along the
// innermost dimension, of which some bytes may be outside the tensor.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "virtual_node/simt/reduce.h"
#include "virtual_node/simt/shared_ref.h"
#include "virtual_node/simt/tensor/tensor_map.h"
#include "virtual_node/simt/watch.h"

namespace fb::simt {

// The bytes [begin, begin + bytes) of a row are in the tensor, at `global`; the others are outside.
struct TensorRow {
  std::byte* global = nullptr;
  mem::Address address = 0;
  uint32_t begin = 0;
  uint32_t bytes = 0;
};

struct TensorBox {
  std::vector<TensorRow> rows;  // in the order of shared memory
  uint32_t row_bytes = 0;
  uint32_t bytes = 0;  // in shared memory
  TensorSwizzle swizzle = TensorSwizzle::none;
  TensorType type = TensorType::u8;

  // Shared memory that the image may touch: swizzling moves pieces inside whole 128-byte lines.
  uint32_t extent() const { return swizzle == TensorSwizzle::none ? bytes : (bytes + 127) / 128 * 128; }
};

// A tensor map in memory.
struct MapRef {
  std::byte* host = nullptr;
  mem::Address address = 0;

  TensorMap load(Warp& w, const Inst& i, uint32_t lane) const;  // throws Trap if it is none
  void store(Warp& w, const TensorMap& map) const;
};
MapRef resolve_tensor_map(Warp& w, const Inst& i, uint32_t lane, ptx::Space space, mem::Address a);

// The map at generic address `a`, checked for use by a copy of `rank` dimensions; throws Trap.
TensorMap load_tensor_map(Warp& w, const Inst& i, uint32_t lane, mem::Address a, uint32_t rank);

// The box at the given coordinates (of elements; they may be negative). Throws Trap if the tensor's memory is not
// there.
TensorBox find_box(Warp& w, const Inst& i, uint32_t lane, const TensorMap& map, const int32_t* coordinates);

// Null: elements of this type do not have the reduction. Integers have the bitwise ones as well.
Reduce find_tensor_reduce(ReduceOp op, TensorType type);

// Global to shared: outside the tensor, zeros.
void load_box(const TensorBox& box, const SharedRef& to);
// Shared to global: outside the tensor, nothing. With `reduce`, elements are combined.
void store_box(const TensorBox& box, const SharedRef& from, Reduce reduce, Watch& watch);

}  // namespace fb::simt
