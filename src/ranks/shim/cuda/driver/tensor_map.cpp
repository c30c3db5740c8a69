#include "common/abi/tensor_map.h"

#include <algorithm>
#include <limits>

#include "ranks/shim/cuda/driver/driver.h"

using namespace fb::shim;
namespace abi = fb::abi;

namespace {

static_assert(sizeof(CUtensorMap) == abi::kTensorMapBytes);

std::span<std::byte, abi::kTensorMapBytes> bytes_of(CUtensorMap* map) {
  return std::span<std::byte, abi::kTensorMapBytes>(reinterpret_cast<std::byte*>(map), abi::kTensorMapBytes);
}

bool is_map_address(const CUtensorMap* map) { return map && reinterpret_cast<uintptr_t>(map) % 64 == 0; }

// Numbers that do not fit become ones that no map may have.
template <class To>
To narrow(uint32_t value) {
  return static_cast<To>(std::min<uint32_t>(value, std::numeric_limits<To>::max()));
}

}  // namespace

// Needs neither a device nor cuInit: it only writes bytes.
FB_API CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                       const cuuint64_t* dims, const cuuint64_t* strides, const cuuint32_t* box,
                                       const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                                       CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                       CUtensorMapFloatOOBfill fill) {
  if (!is_map_address(map) || !dims || !box || !element_strides || rank < 1 || rank > abi::kMaxRank)
    return CUDA_ERROR_INVALID_VALUE;
  if (rank > 1 && !strides) return CUDA_ERROR_INVALID_VALUE;
  if (type < 0 || type >= static_cast<int>(abi::TensorType::count_)) return CUDA_ERROR_INVALID_VALUE;
  abi::TensorMap made;
  made.type = static_cast<abi::TensorType>(type);
  made.rank = static_cast<uint8_t>(rank);
  made.interleave = static_cast<abi::TensorInterleave>(interleave);
  made.swizzle = static_cast<abi::TensorSwizzle>(swizzle);
  made.l2_promotion = static_cast<uint8_t>(promotion);
  made.fill = static_cast<abi::TensorFill>(fill);
  made.address = reinterpret_cast<uint64_t>(address);
  for (uint32_t k = 0; k < rank; ++k) {
    made.dims[k] = dims[k];
    made.box[k] = narrow<uint16_t>(box[k]);
    made.element_strides[k] = narrow<uint8_t>(element_strides[k]);
    if (k > 0) made.strides[k - 1] = strides[k - 1];
  }
  if (!find_problem(made).empty()) return CUDA_ERROR_INVALID_VALUE;
  encode(made, bytes_of(map));
  return CUDA_SUCCESS;
}

FB_API CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* address) {
  if (!is_map_address(map)) return CUDA_ERROR_INVALID_VALUE;
  abi::TensorMap made;
  if (!decode(bytes_of(map), made)) return CUDA_ERROR_INVALID_VALUE;
  made.address = reinterpret_cast<uint64_t>(address);
  if (!find_problem(made).empty()) return CUDA_ERROR_INVALID_VALUE;
  encode(made, bytes_of(map));
  return CUDA_SUCCESS;
}
