// 6-bit floats, E2M3 and E3M2.
#ifndef __CUDA_FP6_H__
#define __CUDA_FP6_H__
#define __CUDA_FP6_TYPES_EXIST__
#pragma GCC system_header
#include "cuda_fp8.h"

typedef __nv_fp8_storage_t __nv_fp6_storage_t;
typedef __nv_fp8x2_storage_t __nv_fp6x2_storage_t;
typedef __nv_fp8x4_storage_t __nv_fp6x4_storage_t;
enum __nv_fp6_interpretation_t { __NV_E2M3, __NV_E3M2 };

#define FB_FAMILY fp6
#define FB_BITS 6
#define FB_SHIFT 8
#define FB_FORMAT_OF(kind) (kind == __NV_E2M3 ? fabricbench::kE2m3 : fabricbench::kE3m2)
#include "fabricbench/narrow/tiny_conversions.inc"

#define FB_KIND e2m3
#define FB_FORMAT kE2m3
#define FB_INTERPRETATION __NV_E2M3
#include "fabricbench/narrow/tiny_type.inc"

#define FB_KIND e3m2
#define FB_FORMAT kE3m2
#define FB_INTERPRETATION __NV_E3M2
#include "fabricbench/narrow/tiny_type.inc"
#undef FB_FAMILY
#undef FB_BITS
#undef FB_SHIFT
#undef FB_FORMAT_OF
#endif
