// The kernel language and the runtime API: what nvcc includes before every source file, and what fb::toolchain makes
// clang include first. A host compiler gets the API with its C++ conveniences; C gets the API.
#ifndef __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_H__
#pragma GCC system_header
#include "fabricbench/language.h"

#if defined(__CUDA__)
// Before any header of the standard library: math/overloads.h says why.
#include "fabricbench/device/output.h"
#include "fabricbench/math/overloads.h"
//
// What nvcc's own header brings along, and programs rely on.
#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <functional>
#include <new>
#include <utility>
#endif

#include "channel_descriptor.h"
#include "cuda_device_runtime_api.h"
#include "cuda_runtime_api.h"
#include "device_types.h"
#include "driver_functions.h"
#include "fabricbench/guards.h"
#include "library_types.h"
#include "vector_functions.h"
#include "vector_types.h"

#if defined(__CUDA__)
#include "fabricbench/device/address_spaces.h"
#include "fabricbench/device/atomic_builtins.h"
#include "fabricbench/device/atomics.h"
#include "fabricbench/device/cached_access.h"
#include "fabricbench/device/conversions.h"
#include "fabricbench/device/integer.h"
#include "fabricbench/device/kernel_variables.h"
#include "fabricbench/device/rounded_arithmetic.h"
#include "fabricbench/device/simd_words.h"
#include "fabricbench/device/surfaces.h"
#include "fabricbench/device/synchronize.h"
#include "fabricbench/device/textures.h"
#include "fabricbench/device/warp.h"
#include "fabricbench/math/min_max.h"
#endif
#if defined(__cplusplus)
#include "fabricbench/runtime/templates.h"
#endif
#endif
