// CHECK(call) for calls of the driver API too. Programs that include this link with -lcuda.
#pragma once
#include <cuda.h>

#include "check.h"

inline void check_result(CUresult error, const char* call, const char* file, int line) {
  if (error == CUDA_SUCCESS) return;
  const char* name = "unknown";
  const char* text = "unknown";
  cuGetErrorName(error, &name);
  cuGetErrorString(error, &text);
  fail("%s:%d: %s: %s (%s)", file, line, call, name, text);
}
