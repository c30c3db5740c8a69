// printf, assert and the memory functions of C in device code.
#pragma once
#pragma GCC system_header
#include "fabricbench/device/externals.h"

extern "C" {
// clang turns each call into one of vprintf with the arguments packed in local memory.
__device__ int printf(const char* format, ...);

// What <assert.h> of glibc calls.
FABRICBENCH_DEVICE __attribute__((noreturn)) void __assert_fail(const char* condition, const char* file,
                                                                unsigned int line, const char* function) {
  __assertfail(condition, file, line, function, sizeof(char));
  __builtin_unreachable();
}

// The built-ins become moves or loops, never calls.
FABRICBENCH_DEVICE void* memcpy(void* to, const void* from, __SIZE_TYPE__ bytes) {
  __builtin_memcpy(to, from, bytes);
  return to;
}
FABRICBENCH_DEVICE void* memmove(void* to, const void* from, __SIZE_TYPE__ bytes) {
  __builtin_memmove(to, from, bytes);
  return to;
}
FABRICBENCH_DEVICE void* memset(void* to, int value, __SIZE_TYPE__ bytes) {
  __builtin_memset(to, value, bytes);
  return to;
}
FABRICBENCH_DEVICE int memcmp(const void* a, const void* b, __SIZE_TYPE__ bytes) {
  const auto* x = static_cast<const unsigned char*>(a);
  const auto* y = static_cast<const unsigned char*>(b);
  for (__SIZE_TYPE__ i = 0; i < bytes; ++i) {
    if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
  }
  return 0;
}
FABRICBENCH_DEVICE __SIZE_TYPE__ strlen(const char* text) {
  __SIZE_TYPE__ length = 0;
  while (text[length] != 0) ++length;
  return length;
}

FABRICBENCH_DEVICE long clock() { return __nvvm_read_ptx_sreg_clock(); }
}
