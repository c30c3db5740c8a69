// Cycles of a multiprocessor for one load of a warp that hits in L1, by the pattern of its lanes' addresses. One block
// of 1024 threads; each thread loads eight floats 16 bytes apart, again and again.
//   stride S      lane k loads float k·S (64 of them, then the same again)
//   tile W PITCH  lanes form rows of W floats, PITCH floats apart (32 rows, then the same again)
#include "measure.h"

constexpr int kThreads = 1024, kRounds = 16, kLoads = 8;

// `zero` keeps the loads of a round from being those of the round before.
__global__ void __launch_bounds__(kThreads)
    load(const float* memory, int row_width, int stride, int pitch, uint64_t zero, Span* spans, float* sink) {
  const int thread = static_cast<int>(threadIdx.x);
  const int column = row_width == 0 ? thread % 64 * stride : thread % row_width;
  const int row = row_width == 0 ? 0 : thread / row_width % 32;
  uint64_t at = reinterpret_cast<uint64_t>(memory + column + row * pitch);
  float sums[kLoads] = {};
  // All loads of a round are issued before the first result is used, the order that ptxas gives them, too.
  const auto pass = [&] {
    float values[kLoads];
#define LOAD(k) asm volatile("ld.global.ca.f32 %0, [%1 + %2];" : "=f"(values[k]) : "l"(at), "n"(16 * k) : "memory")
    LOAD(0);
    LOAD(1);
    LOAD(2);
    LOAD(3);
    LOAD(4);
    LOAD(5);
    LOAD(6);
    LOAD(7);
#undef LOAD
#pragma unroll
    for (int k = 0; k < kLoads; ++k) sums[k] += values[k];
    at += zero;
  };
  pass();
  __syncthreads();
  const long long begin = now();
#pragma unroll 4
  for (int round = 0; round < kRounds; ++round) pass();
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kLoads; ++k) sum += sums[k];
  sink[thread] = sum;
  const long long end = now();
  if (thread % 32 == 0) spans[thread / 32] = {begin, end};
}

int main(int count, char** values) {
  Arguments arguments(count, values, "l1_stride stride S | tile W PITCH");
  const std::string pattern = arguments.text();
  int width = 0, stride = 0, pitch = 0;
  if (pattern == "stride") {
    stride = arguments.number();
  } else if (pattern == "tile") {
    width = arguments.number();
    pitch = arguments.number();
  } else {
    arguments.refuse(pattern);
  }
  auto* const memory = zeroed_memory<float>(static_cast<size_t>(64 * stride + 32 * pitch + 1024 + 64));
  auto* const sink = device_memory<float>(kThreads);
  const auto spans =
      spans_of(kThreads / 32, [&](Span* all) { load<<<1, kThreads>>>(memory, width, stride, pitch, 0, all, sink); });
  report(whole_span(spans) / (kThreads / 32 * kRounds * kLoads), "cycles");
}
