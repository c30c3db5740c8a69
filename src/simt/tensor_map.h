#pragma once

// The 128-byte descriptor of a tensor in global memory that cp.async.bulk.tensor reads. NVIDIA's layout is opaque; this
// is ours. cuTensorMapEncodeTiled writes it, tensormap.replace changes it, copies decode it. Guest code only moves it.
//
// Numbers of types, interleaves, swizzles and promotions are those of cuda.h (CUtensorMapDataType …).

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "mem/layout.h"
#include "ptx/module.h"

namespace fb::simt {

inline constexpr size_t kTensorMapBytes = 128;
inline constexpr uint32_t kMaxRank = 5;

enum class TensorType : uint8_t {
  u8,
  u16,
  u32,
  s32,
  u64,
  s64,
  f16,
  f32,
  f64,
  bf16,
  f32_ftz,
  tf32,
  tf32_ftz,
  count_,
};
enum class TensorInterleave : uint8_t { none, b16, b32 };
enum class TensorSwizzle : uint8_t { none, b32, b64, b128 };
enum class TensorFill : uint8_t { zeros, nan };

uint32_t bytes_of(TensorType type);
// The number that tensormap.replace.elemtype uses, which is not that of cuda.h; false: not supported.
bool from_ptx_elemtype(uint32_t number, TensorType& type);
// What arithmetic a reduction into such a tensor does.
ptx::Type arithmetic_type(TensorType type);

// dims[0] is the innermost and contiguous; strides[k] is the distance in bytes of neighbours in dimension k + 1.
// Only the first `rank` entries (of strides: rank - 1) mean anything.
struct TensorMap {
  TensorType type = TensorType::u8;
  uint8_t rank = 1;
  TensorInterleave interleave = TensorInterleave::none;
  TensorSwizzle swizzle = TensorSwizzle::none;
  uint8_t l2_promotion = 0;  // a hint
  TensorFill fill = TensorFill::zeros;
  mem::Address address = 0;
  std::array<uint64_t, 5> dims{};     // elements
  std::array<uint64_t, 4> strides{};  // bytes
  std::array<uint16_t, 5> box{};      // elements, before element strides thin them out
  std::array<uint8_t, 5> element_strides{1, 1, 1, 1, 1};

  friend bool operator==(const TensorMap&, const TensorMap&) = default;
};

// Empty if a copy can use the map, else what is wrong with it: the rules of cuTensorMapEncodeTiled, and what is not
// supported (interleaved layouts, filling with NaN).
std::string find_problem(const TensorMap& map);

void encode(const TensorMap& map, std::span<std::byte, kTensorMapBytes> to);
// False if the bytes are no tensor map. All zeros are a blank one, because guest code builds maps from zeroed memory
// with tensormap.replace.
bool decode(std::span<const std::byte, kTensorMapBytes> from, TensorMap& map);

// Elements of a box along dimension k as they lie in shared memory.
inline uint32_t box_elements(const TensorMap& map, uint32_t k) {
  const uint32_t stride = k == 0 ? 1 : map.element_strides[k];  // ignored along the contiguous dimension
  return (map.box[k] + stride - 1) / stride;
}
// Bytes of a box in shared memory: what a copy counts on its mbarrier, out of bounds or not.
uint32_t box_bytes(const TensorMap& map);

// Where byte `a` of shared memory lies with the map's swizzle: 16-byte pieces change places inside 32, 64 or 128 bytes,
// by bits 7 to 9 of the address.
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
