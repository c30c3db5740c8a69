// threadIdx, blockIdx, blockDim, gridDim, warpSize. Each is an object without state whose members read a special
// register, so that `threadIdx.x` costs one mov.
#pragma once
#include "vector_types.h"

namespace fabricbench {

#define INDEX_VARIABLE(type, reg, triple)                                                      \
  struct type {                                                                                \
    __declspec(property(get = get_x)) unsigned int x;                                          \
    __declspec(property(get = get_y)) unsigned int y;                                          \
    __declspec(property(get = get_z)) unsigned int z;                                          \
    FABRICBENCH_DEVICE unsigned int get_x() const { return __nvvm_read_ptx_sreg_##reg##_x(); } \
    FABRICBENCH_DEVICE unsigned int get_y() const { return __nvvm_read_ptx_sreg_##reg##_y(); } \
    FABRICBENCH_DEVICE unsigned int get_z() const { return __nvvm_read_ptx_sreg_##reg##_z(); } \
    FABRICBENCH_DEVICE operator triple() const { return triple{get_x(), get_y(), get_z()}; }   \
  };
INDEX_VARIABLE(ThreadIdx, tid, uint3)
INDEX_VARIABLE(BlockIdx, ctaid, uint3)
INDEX_VARIABLE(BlockDim, ntid, dim3)
INDEX_VARIABLE(GridDim, nctaid, dim3)
#undef INDEX_VARIABLE

}  // namespace fabricbench

// Declared, never defined: no load from them is ever generated.
extern const __device__ fabricbench::ThreadIdx threadIdx;
extern const __device__ fabricbench::BlockIdx blockIdx;
extern const __device__ fabricbench::BlockDim blockDim;
extern const __device__ fabricbench::GridDim gridDim;
inline __device__ constexpr int warpSize = 32;
