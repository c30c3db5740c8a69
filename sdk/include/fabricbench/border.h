#pragma once

// What the two halves of the border between a driver and a candidate are made of. The judge writes both halves; each
// is compiled with its own side.

#include <cuda_runtime.h>
#include <fabricbench/rank.h>

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#ifndef FABRICBENCH_EXPORT
#define FABRICBENCH_EXPORT extern "C" __attribute__((visibility("default")))
#endif
#define FABRICBENCH_DEVICE_FUNCTION extern "C" __device__ __attribute__((used, noinline))
// Read by the judge, so that an object is a parameter of a kernel on the other side, too.
#define FABRICBENCH_SIZE_OF(name, ...)                                                            \
  static_assert(sizeof(__VA_ARGS__) <= 2048, "an object that goes to kernels has at most 2 KiB"); \
  extern "C" __device__ __attribute__((used))                                                     \
  const unsigned long long name[2] = {sizeof(__VA_ARGS__), alignof(__VA_ARGS__)}

namespace fabricbench {

// As a launch does: the bytes of an object are its value.
template <class Object>
void put_object(void* into, const Object& object) {
  std::memcpy(into, static_cast<const void*>(&object), sizeof object);
}

template <class Function>
void bind(Function*& pointer, void* symbol) {
  pointer = reinterpret_cast<Function*>(symbol);
}

template <size_t kBytes, size_t kAlignment>
struct alignas(kAlignment) Bytes {
  using Unit =
      std::conditional_t<kAlignment % 8 == 0, unsigned long long,
                         std::conditional_t<kAlignment % 4 == 0, unsigned int,
                                            std::conditional_t<kAlignment % 2 == 0, unsigned short, unsigned char>>>;
  Unit units[kBytes / sizeof(Unit)];
};

}  // namespace fabricbench
