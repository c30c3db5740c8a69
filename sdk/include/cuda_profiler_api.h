// cudaProfilerStart, cudaProfilerStop: part of the runtime's functions for devices.
#ifndef __CUDA_PROFILER_API_H__
#define __CUDA_PROFILER_API_H__
#pragma GCC system_header
#include "driver_types.h"
#endif
