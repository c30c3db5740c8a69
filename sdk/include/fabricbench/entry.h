#pragma once

// What the judge puts behind a candidate's code: the three functions by which a rank's process uses it.
// FABRICBENCH_ENTRY names the class.

#include <cuda_runtime.h>
#include <fabricbench/rank.h>

#include <cstdint>
#include <cstring>

namespace fabricbench {

// Every field of Args is a pointer or an int64_t, so a list of words is an Args.
template <class Args>
Args args_from(const uint64_t* words) {
  static_assert(sizeof(Args) % sizeof(uint64_t) == 0);
  Args args;
  std::memcpy(&args, words, sizeof args);
  return args;
}

}  // namespace fabricbench

#define FABRICBENCH_EXPORT extern "C" __attribute__((visibility("default")))

#define FABRICBENCH_ENTRY(...)                                                                           \
  FABRICBENCH_EXPORT uint64_t fabricbench_args_words() { return sizeof(Args) / sizeof(uint64_t); }       \
  FABRICBENCH_EXPORT void* fabricbench_construct(const fabricbench::Rank* rank, const uint64_t* words) { \
    return new __VA_ARGS__(*rank, fabricbench::args_from<Args>(words));                                  \
  }                                                                                                      \
  FABRICBENCH_EXPORT void fabricbench_run(void* solution, const uint64_t* words, cudaStream_t stream) {  \
    static_cast<__VA_ARGS__*>(solution)->run(fabricbench::args_from<Args>(words), stream);               \
  }                                                                                                      \
  FABRICBENCH_EXPORT void fabricbench_destroy(void* solution) { delete static_cast<__VA_ARGS__*>(solution); }
