#include "virtual_node/simt/tensor/tensor_map.h"

#include <algorithm>
#include <iterator>

namespace fb::simt {

bool from_ptx_elemtype(uint32_t number, TensorType& type) {
  using enum TensorType;
  static constexpr TensorType kTypes[] = {u8, u16, u32, s32, u64, s64, f16, f32, f32_ftz, f64, bf16, tf32, tf32_ftz};
  if (number >= std::size(kTypes)) return false;
  type = kTypes[number];
  return true;
}

ptx::Type arithmetic_type(TensorType type) {
  switch (type) {
    case TensorType::u8:
      return ptx::Type::u8;
    case TensorType::u16:
      return ptx::Type::u16;
    case TensorType::u32:
      return ptx::Type::u32;
    case TensorType::s32:
      return ptx::Type::s32;
    case TensorType::u64:
      return ptx::Type::u64;
    case TensorType::s64:
      return ptx::Type::s64;
    case TensorType::f16:
      return ptx::Type::f16;
    case TensorType::bf16:
      return ptx::Type::bf16;
    case TensorType::f64:
      return ptx::Type::f64;
    case TensorType::f32:
    case TensorType::f32_ftz:
    case TensorType::tf32:
    case TensorType::tf32_ftz:
      return ptx::Type::f32;
    case TensorType::count_:
      break;
  }
  return ptx::Type::u8;
}

uint32_t box_bytes(const TensorMap& map) {
  // 256 elements of 8 bytes in five dimensions would overflow: what does not fit in shared memory is far less.
  uint64_t bytes = bytes_of(map.type);
  for (uint32_t k = 0; k < map.rank; ++k) bytes = std::min<uint64_t>(bytes * box_elements(map, k), 1u << 30);
  return static_cast<uint32_t>(bytes);
}

}  // namespace fb::simt
