// 8-bit floats, E4M3 and E5M2.
#ifndef __CUDA_FP8_H__
#define __CUDA_FP8_H__
#pragma GCC system_header
#include "fabricbench/narrow/fp8_conversions.h"
#include "fabricbench/narrow/paste.h"

#define FB_KIND e4m3
#define FB_INTERPRETATION __NV_E4M3
#include "fabricbench/narrow/fp8_type.inc"

#define FB_KIND e5m2
#define FB_INTERPRETATION __NV_E5M2
#include "fabricbench/narrow/fp8_type.inc"
#endif
