// Random numbers in kernels: XORWOW and Philox4x32-10, the same sequences as NVIDIA's. Other generators are not there.
#ifndef CURAND_KERNEL_H_
#define CURAND_KERNEL_H_
#pragma GCC system_header
#include "cuda_runtime.h"
#include "fabricbench/random/states.h"

#if defined(__CUDA__)
#include "fabricbench/random/distributions.h"
#include "fabricbench/random/philox.h"
#include "fabricbench/random/xorwow.h"
#endif
#endif
