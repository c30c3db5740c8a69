// cudaError_t.
#pragma once
#pragma GCC system_header
#include "fabricbench/language.h"

enum cudaError {
  cudaSuccess = 0,
#define FABRICBENCH_ERROR(name, number) cudaError##name = number,
#include "fabricbench/runtime/errors.def"
};
typedef enum cudaError cudaError;
typedef enum cudaError cudaError_t;

FABRICBENCH_C_BEGIN
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);
FABRICBENCH_C_END
