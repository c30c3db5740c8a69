// The runtime API without the kernel language; for C as well.
#ifndef __CUDA_RUNTIME_API_H__
#define __CUDA_RUNTIME_API_H__
#pragma GCC system_header
#include "driver_types.h"
#endif
