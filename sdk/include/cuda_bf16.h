// __nv_bfloat16 and __nv_bfloat162: the upper half of a float.
#pragma GCC system_header
#include "cuda_fp16.h"
#ifndef FABRICBENCH_BF16
#define FABRICBENCH_BF16
#include "cuda_runtime.h"

#define FB_TYPE __nv_bfloat16
#define FB_TYPE2 __nv_bfloat162
#define FB_NAME bfloat16
#define FB_NAME2 bfloat162
#define FB_PTX "bf16"
#define FB_FORMAT kBfloat16
#include "fabricbench/narrow/all.inc"

// Joining two halves has a name of its own in each header.
FABRICBENCH_BOTH __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 low, __nv_bfloat16 high) { return {low, high}; }

#define CUDART_INF_BF16 __ushort_as_bfloat16(0x7f80)
#define CUDART_NAN_BF16 __ushort_as_bfloat16(0x7fff)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16(0x0001)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16(0x7f7f)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16(0x8000)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16(0x0000)
#define CUDART_ONE_BF16 __ushort_as_bfloat16(0x3f80)
#endif  // FABRICBENCH_BF16

#if !defined(__CUDA_BF16_H__) && !defined(FABRICBENCH_NO_SHORT_NAMES)
#define __CUDA_BF16_H__
#define __CUDA_BF16_TYPES_EXIST__
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;
#endif
