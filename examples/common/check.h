// CHECK(call): a failed CUDA call prints where, what and why, and ends the process. fail(): the same for a wrong
// result.
#pragma once
#include <cuda_runtime.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

[[noreturn]] inline void fail(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::fputs("FAILED ", stderr);
  std::vfprintf(stderr, format, arguments);
  std::fputc('\n', stderr);
  va_end(arguments);
  std::exit(1);
}

inline void check_result(cudaError_t error, const char* call, const char* file, int line) {
  if (error == cudaSuccess) return;
  fail("%s:%d: %s: %s (%s)", file, line, call, cudaGetErrorName(error), cudaGetErrorString(error));
}

#define CHECK(call) check_result((call), #call, __FILE__, __LINE__)
