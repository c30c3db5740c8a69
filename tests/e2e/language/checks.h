// CHECK_EQ(a, b): prints the line where it does not hold; finish() prints OK if nothing was printed.
#pragma once
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

inline int failures = 0;

template <class A, class B>
void check_equal(const A& a, const B& b, const char* text, int line) {
  if (a == b) return;
  ++failures;
  std::printf("line %d: %s: %g, not %g\n", line, text, static_cast<double>(a), static_cast<double>(b));
}
#define CHECK_EQ(a, b) check_equal((a), (b), #a, __LINE__)
#define CHECK(call) check_equal(static_cast<int>(call), 0, #call, __LINE__)

inline int finish() {
  if (failures == 0) std::puts("OK");
  return failures;
}

// Memory that host and device use.
template <class T = int>
T* shared_array(size_t count) {
  void* memory = nullptr;
  CHECK(cudaMallocManaged(&memory, count * sizeof(T)));
  for (size_t i = 0; i < count; ++i) static_cast<T*>(memory)[i] = T();
  return static_cast<T*>(memory);
}
