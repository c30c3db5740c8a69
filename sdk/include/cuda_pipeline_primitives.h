// __pipeline_memcpy_async and its companions.
#ifndef _CUDA_PIPELINE_PRIMITIVES_H_
#define _CUDA_PIPELINE_PRIMITIVES_H_
#pragma GCC system_header
#include "fabricbench/language.h"

#if defined(__CUDA__)
#include "cuda_runtime.h"
#include "fabricbench/device/async_copy.h"

FABRICBENCH_DEVICE void __pipeline_memcpy_async(void* __restrict__ shared, const void* __restrict__ global,
                                                size_t size_and_align, size_t zfill = 0) {
  fabricbench::copy_async(shared, global, size_and_align, zfill);
}
FABRICBENCH_DEVICE void __pipeline_commit() { fabricbench::commit_async_copies(); }

// The instruction takes a constant; more than eight groups in flight are waited for as eight.
FABRICBENCH_DEVICE void __pipeline_wait_prior(size_t pending) {
  switch (pending) {
    case 0:
      return fabricbench::wait_for_async_copies<0>();
    case 1:
      return fabricbench::wait_for_async_copies<1>();
    case 2:
      return fabricbench::wait_for_async_copies<2>();
    case 3:
      return fabricbench::wait_for_async_copies<3>();
    case 4:
      return fabricbench::wait_for_async_copies<4>();
    case 5:
      return fabricbench::wait_for_async_copies<5>();
    case 6:
      return fabricbench::wait_for_async_copies<6>();
    case 7:
      return fabricbench::wait_for_async_copies<7>();
    default:
      return fabricbench::wait_for_async_copies<8>();
  }
}
#endif  // __CUDA__
#endif
