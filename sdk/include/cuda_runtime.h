// The kernel language and the runtime API: what nvcc includes before every source file, and what fb::toolchain makes
// clang include first.
#pragma once
#include "fabricbench/language.h"
// Before any header of the standard library: math/overloads.h says why.
#include "fabricbench/device/output.h"
#include "fabricbench/math/overloads.h"
//
// What nvcc's own header brings along, and programs rely on.
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <new>

#include "cuda_runtime_api.h"
#include "fabricbench/device/address_spaces.h"
#include "fabricbench/device/atomics.h"
#include "fabricbench/device/cached_access.h"
#include "fabricbench/device/conversions.h"
#include "fabricbench/device/integer.h"
#include "fabricbench/device/kernel_variables.h"
#include "fabricbench/device/rounded_arithmetic.h"
#include "fabricbench/device/synchronize.h"
#include "fabricbench/device/warp.h"
#include "fabricbench/math/min_max.h"
#include "fabricbench/runtime/templates.h"
#include "vector_functions.h"
#include "vector_types.h"
