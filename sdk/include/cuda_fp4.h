// 4-bit floats, E2M1: two in a byte.
#ifndef __CUDA_FP4_H__
#define __CUDA_FP4_H__
#define __CUDA_FP4_TYPES_EXIST__
#pragma GCC system_header
#include "cuda_fp6.h"

typedef __nv_fp8_storage_t __nv_fp4_storage_t;
typedef __nv_fp8_storage_t __nv_fp4x2_storage_t;
typedef __nv_fp8x2_storage_t __nv_fp4x4_storage_t;
enum __nv_fp4_interpretation_t { __NV_E2M1 };

#define FB_FAMILY fp4
#define FB_BITS 4
#define FB_SHIFT 4
#define FB_FORMAT_OF(kind) fabricbench::kE2m1
#include "fabricbench/narrow/tiny_conversions.inc"

#define FB_KIND e2m1
#define FB_FORMAT kE2m1
#define FB_INTERPRETATION __NV_E2M1
#include "fabricbench/narrow/tiny_type.inc"
#undef FB_FAMILY
#undef FB_BITS
#undef FB_SHIFT
#undef FB_FORMAT_OF
#endif
