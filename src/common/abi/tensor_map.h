#pragma once

// The 128-byte descriptor of a tensor in global memory that cp.async.bulk.tensor reads. NVIDIA's layout is opaque; this
// is ours. Ranks write it (cuTensorMapEncodeTiled), kernels change it (tensormap.replace), copies decode it. Guest code
// only moves it.
//
// Numbers of types, interleaves, swizzles and promotions are those of cuda.h (CUtensorMapDataType …).

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace fb::abi {

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

// dims[0] is the innermost and contiguous; strides[k] is the distance in bytes of neighbours in dimension k + 1.
// Only the first `rank` entries (of strides: rank - 1) mean anything.
struct TensorMap {
  TensorType type = TensorType::u8;
  uint8_t rank = 1;
  TensorInterleave interleave = TensorInterleave::none;
  TensorSwizzle swizzle = TensorSwizzle::none;
  uint8_t l2_promotion = 0;  // a hint
  TensorFill fill = TensorFill::zeros;
  uint64_t address = 0;
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

}  // namespace fb::abi
