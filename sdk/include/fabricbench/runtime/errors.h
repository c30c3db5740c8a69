// cudaError_t.
#pragma once
#include "fabricbench/language.h"

enum cudaError {
  cudaSuccess = 0,
#define ERROR(name, number) cudaError##name = number,
#include "fabricbench/runtime/errors.def"
};
using cudaError_t = cudaError;

extern "C" {
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);
}
