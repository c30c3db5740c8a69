// mma.sync: latency of one whose sums the next one adds to.
//   latency bf16     m16n8k16, bf16 into f32
#include "measure.h"

constexpr int kLength = 128;

__global__ void chain(Span* span, float* sink) {
  float d[4] = {};
  const unsigned a[4] = {0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80}, b[2] = {0x3f803f80, 0x3f803f80};
  // The second pass is measured: its instructions are there.
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    const long long begin = now();
#pragma unroll
    for (int k = 0; k < kLength; ++k) {
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
          "{%0, %1, %2, %3};"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
    const long long end = now();
    if (threadIdx.x == 0) *span = {begin, end};
  }
  sink[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}

int main(int count, char** values) {
  Arguments arguments(count, values, "matrix latency bf16");
  const std::string what = arguments.text(), type = arguments.text();
  if (what != "latency") arguments.refuse(what);
  if (type != "bf16") arguments.refuse(type);
  auto* const sink = device_memory<float>(32);
  report(whole_span(spans_of(1, [&](Span* span) { chain<<<1, 32>>>(span, sink); })) / kLength, "cycles");
}
