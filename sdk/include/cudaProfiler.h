// cuProfilerStart, cuProfilerStop: part of the driver's functions for devices.
#ifndef cuda_profiler_H
#define cuda_profiler_H
#pragma GCC system_header
#include "cuda.h"
#endif
