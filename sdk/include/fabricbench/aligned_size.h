// cuda::aligned_size_t: a number of bytes with a promise about alignment.
#pragma once
#include <stddef.h>

#include "fabricbench/language.h"

#if defined(__FABRICBENCH_CCCL__)
#include <cuda/barrier>
#else

namespace cuda {

template <size_t Alignment>
struct aligned_size_t {
  static constexpr size_t align = Alignment;
  size_t value;
  FABRICBENCH_BOTH explicit constexpr aligned_size_t(size_t bytes) : value(bytes) {}
  FABRICBENCH_BOTH constexpr operator size_t() const { return value; }
};

}  // namespace cuda

#endif
