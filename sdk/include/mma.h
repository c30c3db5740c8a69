// nvcuda::wmma: a warp multiplies small matrices. Each operation is one or a few mma.sync instructions; which thread
// holds which element is not specified by CUDA and is that of mma.sync here.
#ifndef __CUDA_MMA_H__
#define __CUDA_MMA_H__
#pragma GCC system_header
// nvcc reads this header in place of its own, too: the instructions of NVIDIA's, wmma.*, leave open which thread holds
// what, so that mma.sync stands for them here whatever compiles a kernel.
#if defined(__CUDACC__) && !defined(__clang__)
#define FABRICBENCH_DEVICE __device__ __forceinline__
#else
#include "fabricbench/language.h"
#endif

#if defined(__CUDACC__) || defined(__CUDA__)
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "fabricbench/matrix/fragment.h"
#include "fabricbench/matrix/multiply.h"
#include "fabricbench/matrix/sub_byte.h"
#endif
#endif
