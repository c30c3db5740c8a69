// __half and __half2: IEEE binary16.
#pragma GCC system_header
#ifndef FABRICBENCH_FP16
#define FABRICBENCH_FP16
// NVIDIA's header brings these along, and programs rely on it.
#include <cstring>
#include <utility>

#include "cuda_runtime.h"
#include "fabricbench/narrow/encode.h"
#include "fabricbench/narrow/paste.h"

#define FB_TYPE __half
#define FB_TYPE2 __half2
#define FB_NAME half
#define FB_NAME2 half2
#define FB_PTX "f16"
#define FB_FORMAT kHalf
#include "fabricbench/narrow/all.inc"

// Joining two halves has a name of its own in each header.
FABRICBENCH_BOTH __half2 __halves2half2(__half low, __half high) { return {low, high}; }

#define CUDART_INF_FP16 __ushort_as_half(0x7c00)
#define CUDART_NAN_FP16 __ushort_as_half(0x7fff)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half(0x0001)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(0x7bff)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half(0x8000)
#define CUDART_ZERO_FP16 __ushort_as_half(0x0000)
#define CUDART_ONE_FP16 __ushort_as_half(0x3c00)
#endif  // FABRICBENCH_FP16

// The names without underscores, which a program may use for its own types if it does not include this header.
#if !defined(__CUDA_FP16_H__) && !defined(FABRICBENCH_NO_SHORT_NAMES)
#define __CUDA_FP16_H__
#define __CUDA_FP16_TYPES_EXIST__
using half = __half;
using half2 = __half2;
using __nv_half = __half;
using __nv_half2 = __half2;
using nv_half = __half;
using nv_half2 = __half2;
#endif
