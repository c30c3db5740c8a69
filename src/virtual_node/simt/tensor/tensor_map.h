#pragma once

// What copies do with a tensor map (common/abi/tensor_map.h): the arithmetic of its types, the shape of its boxes,
// swizzling.

#include <cstdint>

#include "common/abi/tensor_map.h"
#include "common/ptx/module.h"

namespace fb::simt {

using abi::kMaxRank;
using abi::kTensorMapBytes;
using abi::TensorFill;
using abi::TensorInterleave;
using abi::TensorMap;
using abi::TensorSwizzle;
using abi::TensorType;

// The number that tensormap.replace.elemtype uses, which is not that of cuda.h; false: not supported.
bool from_ptx_elemtype(uint32_t number, TensorType& type);
// What arithmetic a reduction into such a tensor does.
ptx::Type arithmetic_type(TensorType type);

// Elements of a box along dimension k in shared memory.
inline uint32_t box_elements(const TensorMap& map, uint32_t k) {
  const uint32_t stride = k == 0 ? 1 : map.element_strides[k];  // ignored along the contiguous dimension
  return (map.box[k] + stride - 1) / stride;
}
// Bytes of a box in shared memory: what a copy counts on its mbarrier, out of bounds or not.
uint32_t box_bytes(const TensorMap& map);

// The address of byte `a` of shared memory under the map's swizzle: 16-byte pieces are permuted inside 32, 64 or 128
// bytes, by bits 7 to 9 of the address.
inline uint32_t swizzled(TensorSwizzle swizzle, uint32_t a) {
  switch (swizzle) {
    case TensorSwizzle::none:
      return a;
    case TensorSwizzle::b32:
      return a ^ (a >> 3 & 0x10);
    case TensorSwizzle::b64:
      return a ^ (a >> 3 & 0x30);
    case TensorSwizzle::b128:
      return a ^ (a >> 3 & 0x70);
  }
  return a;
}

}  // namespace fb::simt
