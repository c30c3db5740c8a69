// Asynchronous copies to shared memory.
#ifndef _CUDA_PIPELINE_H_
#define _CUDA_PIPELINE_H_
#pragma GCC system_header
#include "cuda_pipeline_primitives.h"
#endif
