// EXPECT(call, error): a call that gives another error than CUDA's says so; main() returns failures().
#pragma once
#include <cuda_runtime.h>

#include <cstdio>

inline int& failures() {
  static int count = 0;
  return count;
}

inline void expect(cudaError_t got, cudaError_t wanted, const char* call, int line) {
  if (got == wanted) return;
  ++failures();
  std::printf("line %d: %s: %s, not %s\n", line, call, cudaGetErrorName(got), cudaGetErrorName(wanted));
}
inline void expect_true(bool holds, const char* what, int line) {
  if (holds) return;
  ++failures();
  std::printf("line %d: not true: %s\n", line, what);
}

#define EXPECT(call, error) expect((call), (error), #call, __LINE__)
#define CHECK(call) EXPECT(call, cudaSuccess)
#define CHECK_TRUE(condition) expect_true((condition), #condition, __LINE__)
