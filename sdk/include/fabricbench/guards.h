// The include guards of NVIDIA's headers whose content is in cuda_runtime.h here. Programs test them to learn whether
// the CUDA runtime was included. Headers that exist as files of their own (driver_types.h, vector_types.h, …) are
// guarded by NVIDIA's name themselves.
#pragma once
#define __BUILTIN_TYPES_H__
#define __CUDA_DEVICE_RUNTIME_API_H__
#define __HOST_CONFIG_H__
#if defined(__CUDA__)
#define __COMMON_FUNCTIONS_H__
#define __DEVICE_ATOMIC_FUNCTIONS_H__
#define __DEVICE_DOUBLE_FUNCTIONS_H__
#define __DEVICE_FUNCTIONS_H__
#define __DEVICE_LAUNCH_PARAMETERS_H__
#define __MATH_FUNCTIONS_H__
#define __SM_20_ATOMIC_FUNCTIONS_H__
#define __SM_20_INTRINSICS_H__
#define __SM_30_INTRINSICS_H__
#define __SM_32_ATOMIC_FUNCTIONS_H__
#define __SM_32_INTRINSICS_H__
#define __SM_35_ATOMIC_FUNCTIONS_H__
#define __SM_35_INTRINSICS_H__
#define __SM_60_ATOMIC_FUNCTIONS_H__
#define __SM_61_INTRINSICS_H__
#define __SM_70_RT_H__
#define __SM_80_RT_H__
#define __SM_90_RT_H__
#endif
