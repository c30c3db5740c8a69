#include "common/abi/tensor_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace fb::abi {
namespace {

constexpr uint32_t kTensorMapMagic = 0x4D54'4246;  // "FBTM"

// The descriptor's bytes.
struct TensorMapLayout {
  uint32_t magic;
  uint8_t type, rank, interleave, swizzle, l2_promotion, fill, reserved;
  uint8_t element_strides[5];
  uint64_t address;
  uint64_t dims[5];
  uint64_t strides[4];
  uint16_t box[5];
  uint8_t unused[22];
};
static_assert(sizeof(TensorMapLayout) == kTensorMapBytes);

template <class To, class From>
void copy_all(To& to, const From& from) {
  std::copy(std::begin(from), std::end(from), std::begin(to));
}

}  // namespace

uint32_t bytes_of(TensorType type) {
  switch (type) {
    case TensorType::u8:
      return 1;
    case TensorType::u16:
    case TensorType::f16:
    case TensorType::bf16:
      return 2;
    case TensorType::u64:
    case TensorType::s64:
    case TensorType::f64:
      return 8;
    default:
      return 4;
  }
}

std::string find_problem(const TensorMap& map) {
  if (map.type >= TensorType::count_) return "an element type that is not supported";
  if (map.rank < 1 || map.rank > kMaxRank) return fmt::format("rank {} is not 1 to 5", map.rank);
  if (map.interleave != TensorInterleave::none) return "interleaved layouts are not supported";
  if (map.swizzle > TensorSwizzle::b128) return "a swizzle mode that is not supported";
  if (map.fill != TensorFill::zeros) return "filling with NaN is not supported";
  if (map.address % 16 != 0) return fmt::format("the tensor's address {:#x} is not aligned to 16 bytes", map.address);
  for (uint32_t k = 0; k < map.rank; ++k) {
    if (map.dims[k] < 1 || map.dims[k] > uint64_t{1} << 32) return fmt::format("dimension {} is {}", k, map.dims[k]);
    if (map.box[k] < 1 || map.box[k] > 256) return fmt::format("box dimension {} is {}, not 1 to 256", k, map.box[k]);
    if (map.element_strides[k] < 1 || map.element_strides[k] > 8) {
      return fmt::format("element stride {} is {}, not 1 to 8", k, map.element_strides[k]);
    }
    if (k == 0) continue;
    const uint64_t stride = map.strides[k - 1];
    if (stride % 16 != 0 || stride >= uint64_t{1} << 40) {
      return fmt::format("stride {} is {}, not a multiple of 16 below 2^40", k - 1, stride);
    }
  }
  const uint32_t inner = map.box[0] * bytes_of(map.type);
  if (inner % 16 != 0) return fmt::format("the box's inner dimension has {} bytes, not a multiple of 16", inner);
  if (map.swizzle != TensorSwizzle::none) {
    const uint32_t span = 16u << static_cast<uint32_t>(map.swizzle);
    if (inner > span) return fmt::format("the box's inner dimension has {} bytes, swizzling allows {}", inner, span);
  }
  return {};
}

void encode(const TensorMap& map, std::span<std::byte, kTensorMapBytes> to) {
  TensorMapLayout out{};
  out.magic = kTensorMapMagic;
  out.type = static_cast<uint8_t>(map.type);
  out.rank = map.rank;
  out.interleave = static_cast<uint8_t>(map.interleave);
  out.swizzle = static_cast<uint8_t>(map.swizzle);
  out.l2_promotion = map.l2_promotion;
  out.fill = static_cast<uint8_t>(map.fill);
  copy_all(out.element_strides, map.element_strides);
  out.address = map.address;
  copy_all(out.dims, map.dims);
  copy_all(out.strides, map.strides);
  copy_all(out.box, map.box);
  std::memcpy(to.data(), &out, sizeof out);
}

bool decode(std::span<const std::byte, kTensorMapBytes> from, TensorMap& map) {
  TensorMapLayout in;
  std::memcpy(&in, from.data(), sizeof in);
  if (in.magic != kTensorMapMagic) {
    map = {};
    return std::ranges::all_of(from, [](std::byte b) { return b == std::byte{0}; });
  }
  map.type = static_cast<TensorType>(in.type);
  map.rank = in.rank;
  map.interleave = static_cast<TensorInterleave>(in.interleave);
  map.swizzle = static_cast<TensorSwizzle>(in.swizzle);
  map.l2_promotion = in.l2_promotion;
  map.fill = static_cast<TensorFill>(in.fill);
  copy_all(map.element_strides, in.element_strides);
  map.address = in.address;
  copy_all(map.dims, in.dims);
  copy_all(map.strides, in.strides);
  copy_all(map.box, in.box);
  return true;
}

}  // namespace fb::abi
