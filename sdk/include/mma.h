// nvcuda::wmma: a warp multiplies small matrices. Each operation is one or a few mma.sync instructions; which thread
// holds which element is not specified by CUDA and is that of mma.sync here.
#ifndef __CUDA_MMA_H__
#define __CUDA_MMA_H__
#pragma GCC system_header
#include "fabricbench/language.h"

#if defined(__CUDA__)
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "fabricbench/matrix/fragment.h"
#include "fabricbench/matrix/multiply.h"
#include "fabricbench/matrix/sub_byte.h"
#endif
#endif
