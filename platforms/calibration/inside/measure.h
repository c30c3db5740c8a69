// Shared by the programs of this folder. Each measures one thing inside a GPU the way its public source did: cycles of
// clock64() in the kernel, or time between events. The arguments choose the variant; the program prints one line
// "VALUE UNIT".
//
// Results of measured instructions are used, and instructions whose number matters are volatile PTX that neither clang
// nor ptxas can merge: the programs are meant for real GPUs as well.
#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "../../../examples/common/check.h"

inline void report(double value, const char* unit) { std::printf("%.6g %s\n", value, unit); }

// The arguments of a program, one after the other.
class Arguments {
 public:
  Arguments(int count, char** values, const char* usage) : values_(values + 1, values + count), usage_(usage) {}
  std::string text() {
    if (next_ == values_.size()) fail("usage: %s", usage_);
    return values_[next_++];
  }
  int number() {
    const std::string value = text();
    char* end = nullptr;
    const long parsed = std::strtol(value.c_str(), &end, 10);
    if (*end != '\0' || parsed <= 0) fail("'%s' is no positive number; usage: %s", value.c_str(), usage_);
    return static_cast<int>(parsed);
  }
  [[noreturn]] void refuse(const std::string& value) const {
    fail("unknown variant '%s'; usage: %s", value.c_str(), usage_);
  }

 private:
  std::vector<std::string> values_;
  const char* usage_;
  size_t next_ = 0;
};

inline int attribute(cudaDeviceAttr which) {
  int value = 0;
  CHECK(cudaDeviceGetAttribute(&value, which, 0));
  return value;
}
inline int sm_count() { return attribute(cudaDevAttrMultiProcessorCount); }
inline double cycles_of_microseconds(double time) { return time * attribute(cudaDevAttrClockRate) / 1e3; }

// Memory of the device; it lives until the program's end.
template <class T>
T* device_memory(size_t count) {
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, count * sizeof(T)));
  return static_cast<T*>(memory);
}
template <class T>
T* zeroed_memory(size_t count) {
  T* const memory = device_memory<T>(count);
  CHECK(cudaMemset(memory, 0, count * sizeof(T)));
  CHECK(cudaDeviceSynchronize());
  return memory;
}
template <class T>
std::vector<T> copy_to_host(const T* memory, size_t count) {
  std::vector<T> values(count);
  CHECK(cudaMemcpy(values.data(), memory, count * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}

// The clock of a multiprocessor. No access to memory moves across it.
__device__ inline long long now() {
  long long cycles;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles)::"memory");
  return cycles;
}

__device__ inline unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

// What a warp (or a thread) has measured.
struct Span {
  long long begin, end;
};

// The spans that a kernel writes. It is launched twice, and the second launch counts: L2 has what it needs then.
// `cold`: one launch only.
template <class Launch>
std::vector<Span> spans_of(size_t count, Launch launch, bool cold = false) {
  Span* const spans = zeroed_memory<Span>(count);
  for (int k = cold ? 1 : 0; k < 2; ++k) {
    launch(spans);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
  }
  return copy_to_host(spans, count);
}

// From the first begin to the last end; meaningful for warps of one multiprocessor.
inline double whole_span(const std::vector<Span>& spans) {
  long long begin = spans[0].begin, end = spans[0].end;
  for (const Span& span : spans) {
    begin = std::min(begin, span.begin);
    end = std::max(end, span.end);
  }
  return static_cast<double>(end - begin);
}

inline double median_span(std::vector<Span> spans) {
  const auto middle = spans.begin() + static_cast<long>(spans.size() / 2);
  std::nth_element(spans.begin(), middle, spans.end(),
                   [](const Span& a, const Span& b) { return a.end - a.begin < b.end - b.begin; });
  return static_cast<double>(middle->end - middle->begin);
}

// Microseconds between two events around `launch`.
template <class Launch>
double elapsed(Launch launch) {
  cudaEvent_t begin = nullptr, end = nullptr;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaEventRecord(begin));
  launch();
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));
  float milliseconds = 0;
  CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaEventDestroy(end));
  return 1e3 * milliseconds;
}

// Writes twice what L2 holds: nothing else is left in it.
__global__ inline void sweep(int4* memory, size_t count) {
  const size_t step = size_t{gridDim.x} * blockDim.x;
  for (size_t k = size_t{blockIdx.x} * blockDim.x + threadIdx.x; k < count; k += step) memory[k] = int4{};
}
inline void empty_l2() {
  const size_t bytes = size_t{2} * static_cast<size_t>(attribute(cudaDevAttrL2CacheSize));
  auto* const memory = device_memory<int4>(bytes / sizeof(int4));
  sweep<<<sm_count(), 1024>>>(memory, bytes / sizeof(int4));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(memory));
}

// Launches in clusters of `blocks` along x.
template <class... Parameters, class... Given>
void launch_clusters(void (*kernel)(Parameters...), int grid, int threads, size_t shared, int blocks, Given... given) {
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {static_cast<unsigned>(blocks), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(grid));
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = shared;
  config.attrs = &cluster;
  config.numAttrs = 1;
  if (blocks > 8) CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  CHECK(cudaLaunchKernelEx(&config, kernel, Parameters(given)...));
}
